// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

//! B, C, M: the locks of the standard library.

use crate::meter::{crew, Meter, Operation};
use crate::system::{consume, spin};
use std::sync::{Mutex, RwLock};

fn contended(row: &'static str, threads: usize, pinned: bool, inside: u64, outside: u64) -> Operation {
    Operation::new(row, "Rust Mutex", 80_000, move |n, meter| {
        let each = n / threads as u64;
        let count = Mutex::new(0u64);
        crew(threads, pinned, meter, |_| {
            for _ in 0..each {
                {
                    *count.lock().unwrap() += 1;
                    if inside > 0 {
                        spin(inside);
                    }
                }
                if outside > 0 {
                    spin(outside);
                }
            }
        });
        assert_eq!(*count.lock().unwrap(), each * threads as u64);
    })
}

fn mixed(row: &'static str, threads: usize, pinned: bool, writes: bool) -> Operation {
    Operation::new(row, "Rust RwLock", 200_000, move |n, meter| {
        let written = RwLock::new(0u64);
        crew(threads, pinned, meter, |_| {
            for i in 0..n / threads as u64 {
                if writes && i % 20 == 0 {
                    *written.write().unwrap() += 1;
                } else {
                    consume(*written.read().unwrap());
                }
            }
        });
    })
}

fn locked(n: u64, _: &mut Meter) {
    let count = Mutex::new(0u64);
    for _ in 0..n {
        let mut count = count.lock().unwrap();
        *count += 1;
        consume(*count);
    }
}

pub fn operations() -> Vec<Operation> {
    vec![
        Operation::new("B.sync-void", "Rust Mutex", 1_000_000, locked),
        Operation::new("B.sync-returning", "Rust Mutex", 1_000_000, locked),
        Operation::new("B.sync-nested", "Rust Mutex", 1_000_000, |n, _| {
            let outer = Mutex::new(());
            let inner = Mutex::new(0u64);
            for _ in 0..n {
                let _outer = outer.lock().unwrap();
                let mut count = inner.lock().unwrap();
                *count += 1;
                consume(*count);
            }
        }),
        Operation::new("B.sync-reader", "Rust RwLock", 1_000_000, |n, _| {
            let value = RwLock::new(0u64);
            for _ in 0..n {
                consume(*value.read().unwrap());
            }
        }),
        Operation::new("B.sync-barrier", "Rust RwLock", 1_000_000, |n, _| {
            let value = RwLock::new(0u64);
            for _ in 0..n {
                let mut value = value.write().unwrap();
                *value += 1;
                consume(*value);
            }
        }),
        contended("C.2-threads", 2, true, 0, 0),
        contended("C.2-threads-1us-in", 2, true, 1000, 0),
        contended("C.2-threads-1us-in-1us-out", 2, true, 1000, 1000),
        contended("C.8-threads", 8, false, 0, 0),
        mixed("M.95-5-2-threads", 2, true, true),
        mixed("M.95-5-8-threads", 8, false, true),
        mixed("M.readers-2-threads", 2, true, false),
    ]
}
