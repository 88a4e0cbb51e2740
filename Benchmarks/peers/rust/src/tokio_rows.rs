// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

//! A, D, E, F, J, L: tokio, with as many workers as the other sides have processors.

use crate::meter::{crew, Countdown, Meter, Operation, TEAM};
use crate::system::{consume, now, process_cpu, sleep, Numbers};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::{sleep_until, Instant};

type Item = Box<dyn FnOnce() + Send>;

const PEER: &str = "tokio";

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(TEAM).enable_time().build().unwrap()
}

/// A serial queue: a task that calls what comes out of a channel.
fn queue(handle: &Handle) -> UnboundedSender<Item> {
    let (sender, mut receiver) = unbounded_channel::<Item>();
    handle.spawn(async move {
        while let Some(item) = receiver.recv().await {
            item();
        }
    });
    sender
}

fn send(queue: &UnboundedSender<Item>, item: impl FnOnce() + Send + 'static) {
    assert!(queue.send(Box::new(item)).is_ok());
}

fn drain(queue: &UnboundedSender<Item>) {
    let done = Countdown::new(1);
    let last = done.clone();
    send(queue, move || last.arrive());
    done.wait();
}

fn end_to_end(
    row: &'static str,
    runtime: &Arc<Runtime>,
    submit: impl Fn(&UnboundedSender<Item>, u64) + 'static,
) -> Operation {
    let runtime = runtime.clone();
    Operation::new(row, PEER, 200_000, move |n, meter| {
        let queue = queue(runtime.handle());
        meter.start();
        submit(&queue, n);
        drain(&queue);
        meter.stop();
    })
}

fn grow(done: Countdown, depth: u32) {
    if depth > 0 {
        for _ in 0..2 {
            let done = done.clone();
            tokio::spawn(async move {
                grow(done.clone(), depth - 1);
                done.arrive();
            });
        }
    }
}

/// A token that tasks pass on around a ring of channels.
fn ring(row: &'static str, runtime: &Arc<Runtime>, tasks: usize) -> Operation {
    let runtime = runtime.clone();
    Operation::new(row, PEER, 200_000, move |n, meter| {
        let done = Countdown::new(1);
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..tasks).map(|_| unbounded_channel::<u64>()).unzip();
        for (index, mut receiver) in receivers.into_iter().enumerate() {
            let next = senders[(index + 1) % tasks].clone();
            let done = done.clone();
            runtime.spawn(async move {
                while let Some(left) = receiver.recv().await {
                    if left == 0 {
                        return done.arrive();
                    }
                    // The ring may be gone already when the last hop has been made.
                    let _ = next.send(left - 1);
                }
            });
        }
        meter.start();
        senders[0].send(n - 1).unwrap();
        done.wait();
        meter.stop();
    })
}

/// Makes all timers well before the first is due, then lets them fire.
fn scheduled(row: &'static str, runtime: &Arc<Runtime>, spread: u64) -> Operation {
    let runtime = runtime.clone();
    Operation::new(row, PEER, 100_000, move |n, meter| {
        let done = Countdown::new(n);
        let mut numbers = Numbers(0x6763);
        let first = Instant::now() + Duration::from_nanos(n * 8000);
        let begin = now();
        for _ in 0..n {
            let offset = if spread == 0 { 0 } else { numbers.below(n * spread) };
            let done = done.clone();
            runtime.spawn(async move {
                sleep_until(first + Duration::from_nanos(offset)).await;
                done.arrive();
            });
        }
        meter.report("schedule", (now() - begin) as f64 / n as f64);
        let cpu = process_cpu();
        done.wait();
        meter.report("cpu-per-fired", (process_cpu() - cpu) as f64 / n as f64);
    })
}

fn lateness(runtime: &Runtime, n: u64, meter: &mut Meter) {
    let done = Countdown::new(n);
    let late: Arc<Vec<AtomicU64>> = Arc::new((0..n).map(|_| AtomicU64::new(0)).collect());
    let mut numbers = Numbers(0x6763);
    let start = Instant::now();
    for i in 0..n as usize {
        let deadline = start + Duration::from_nanos(numbers.below(n * 2_000_000) + 5_000_000);
        let (done, late) = (done.clone(), late.clone());
        runtime.spawn(async move {
            sleep_until(deadline).await;
            late[i].store(deadline.elapsed().as_nanos() as u64, Ordering::Relaxed);
            done.arrive();
        });
    }
    done.wait();
    meter.report_percentiles(late.iter().map(|late| late.load(Ordering::Relaxed)).collect(), "");
}

/// Items that each sleep for 100 ms, on threads that a new runtime starts for them.
fn sleepers(n: u64, meter: &mut Meter) {
    let runtime = runtime();
    let last = Arc::new(AtomicU64::new(0));
    let done = Countdown::new(n);
    let begin = now();
    for _ in 0..n {
        let (last, done) = (last.clone(), done.clone());
        runtime.spawn_blocking(move || {
            last.fetch_max(now() - begin, Ordering::Relaxed);
            sleep(100_000_000);
            done.arrive();
        });
    }
    done.wait();
    meter.report("all-started", last.load(Ordering::Relaxed) as f64);
    meter.report("all-done", (now() - begin) as f64);
}

pub fn operations() -> Vec<Operation> {
    let runtime = Arc::new(runtime());
    let with = |row, count, body: fn(&Runtime, u64, &mut Meter)| {
        let runtime = runtime.clone();
        Operation::new(row, PEER, count, move |n, meter| body(&runtime, n, meter))
    };
    vec![
        end_to_end("A.serial-async-1p", &runtime, |queue, n| {
            for _ in 0..n {
                send(queue, || {});
            }
        }),
        end_to_end("A.capture-3-words", &runtime, |queue, n| {
            for i in 0..n {
                let next = i + 1;
                send(queue, move || consume(i + next + n));
            }
        }),
        with("D.global-1p", 100_000, |runtime, n, _| {
            let done = Countdown::new(n);
            for _ in 0..n {
                let done = done.clone();
                runtime.spawn(async move { done.arrive() });
            }
            done.wait();
        }),
        with("D.global-2p", 100_000, |runtime, n, meter| {
            let done = Countdown::new(n / 2 * 2);
            crew(2, false, meter, |_| {
                for _ in 0..n / 2 {
                    let done = done.clone();
                    runtime.spawn(async move { done.arrive() });
                }
            });
            done.wait();
        }),
        with("D.fork-tree", 1 << 17, |runtime, n, _| {
            let done = Countdown::new(n - 2);
            let tree = done.clone();
            runtime.spawn(async move { grow(tree, n.trailing_zeros() - 1) });
            done.wait();
        }),
        ring("E.ping-pong", &runtime, 2),
        ring("E.chain-1000", &runtime, 1000),
        with("F.async-signal-wait", 5000, |runtime, n, _| {
            for _ in 0..n {
                let (signal, wait) = oneshot::channel();
                runtime.spawn(async move { signal.send(()) });
                wait.blocking_recv().unwrap();
            }
        }),
        scheduled("J.random-deadlines", &runtime, 4000),
        scheduled("J.same-deadline", &runtime, 0),
        with("J.lateness", 250, lateness),
        Operation::new("L.64-sleeps-global", PEER, 64, sleepers),
    ]
}
