// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

//! D, F, G: rayon.

use crate::meter::{crew, Countdown, Operation, TEAM};
use crate::system::{consume, spin};
use rayon::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

const PEER: &str = "rayon";

/// Calls the body with 0..n in parallel.
fn apply(pool: &ThreadPool, n: u64, body: impl Fn(u64) + Sync + Send) {
    pool.install(|| (0..n).into_par_iter().for_each(body));
}

fn grow<'scope>(scope: &Scope<'scope>, depth: u32) {
    if depth > 0 {
        scope.spawn(move |scope| grow(scope, depth - 1));
        scope.spawn(move |scope| grow(scope, depth - 1));
    }
}

fn spawned(pool: &ThreadPool, n: u64, body: impl Fn() + Copy + Send + 'static) {
    let done = Countdown::new(n);
    for _ in 0..n {
        let done = done.clone();
        pool.spawn(move || {
            body();
            done.arrive();
        });
    }
    done.wait();
}

pub fn operations() -> Vec<Operation> {
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(TEAM).build().unwrap());
    let with = |row, count, body: fn(&ThreadPool, u64)| {
        let pool = pool.clone();
        Operation::new(row, PEER, count, move |n, _| body(&pool, n))
    };
    let two_producers = {
        let pool = pool.clone();
        Operation::new("D.global-2p", PEER, 100_000, move |n, meter| {
            let done = Countdown::new(n / 2 * 2);
            crew(2, false, meter, |_| {
                for _ in 0..n / 2 {
                    let done = done.clone();
                    pool.spawn(move || done.arrive());
                }
            });
            done.wait();
        })
    };
    vec![
        with("D.global-1p", 100_000, |pool, n| spawned(pool, n, || {})),
        two_producers,
        with("D.fork-tree", 1 << 17, |pool, n| {
            pool.scope(|scope| grow(scope, n.trailing_zeros() - 1));
        }),
        with("D.global-1us-bodies", 40_000, |pool, n| spawned(pool, n, || spin(1000))),
        with("F.async-signal-wait", 10_000, |pool, n| {
            let (signal, wait) = crossbeam_channel::bounded::<()>(1);
            for _ in 0..n {
                let signal = signal.clone();
                pool.spawn(move || signal.send(()).unwrap());
                wait.recv().unwrap();
            }
        }),
        with("G.1e6-x-1ns", 1_000_000, |pool, n| apply(pool, n, consume)),
        with("G.1e4-x-1us", 10_000, |pool, n| apply(pool, n, |_| spin(1000))),
        with("G.imbalanced", 1000, |pool, n| apply(pool, n, |i| spin(i * 200))),
        with("G.2-empty", 10_000, |pool, n| (0..n).for_each(|_| apply(pool, 2, consume))),
        with("G.64-empty", 10_000, |pool, n| (0..n).for_each(|_| apply(pool, 64, consume))),
        with("G.16-x-1us", 4000, |pool, n| (0..n).for_each(|_| apply(pool, 16, |_| spin(1000)))),
    ]
}
