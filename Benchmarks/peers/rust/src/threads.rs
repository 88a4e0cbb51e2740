// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

//! What the standard library does with threads: a channel to a thread, a semaphore, a thread for each item that blocks.

use crate::meter::{crew, Countdown, Operation};
use crate::system::{consume, now, sleep};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{spawn, JoinHandle};

type Item = Box<dyn FnOnce() + Send>;

/// A serial queue: a thread that calls what comes out of a channel.
fn queue() -> (Sender<Item>, JoinHandle<()>) {
    let (sender, receiver) = channel::<Item>();
    (sender, spawn(move || receiver.into_iter().for_each(|item| item())))
}

fn end_to_end(row: &'static str, submit: impl Fn(&Sender<Item>, u64) + 'static) -> Operation {
    Operation::new(row, "Rust mpsc", 400_000, move |n, meter| {
        let (sender, thread) = queue();
        meter.start();
        submit(&sender, n);
        drop(sender);
        thread.join().unwrap();
        meter.stop();
    })
}

fn producers(row: &'static str, queues: usize) -> Operation {
    Operation::new(row, "Rust mpsc", 200_000, move |n, meter| {
        let (senders, threads): (Vec<_>, Vec<_>) = (0..queues).map(|_| queue()).unzip();
        crew(2, false, meter, |index| {
            let sender = senders[index % queues].clone();
            for _ in 0..n / 2 {
                sender.send(Box::new(|| {})).unwrap();
            }
        });
        drop(senders);
        for thread in threads {
            thread.join().unwrap();
        }
        meter.stop();
    })
}

#[derive(Default)]
struct Semaphore {
    value: Mutex<u64>,
    changed: Condvar,
}

impl Semaphore {
    fn signal(&self) {
        *self.value.lock().unwrap() += 1;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let mut value = self.value.lock().unwrap();
        while *value == 0 {
            value = self.changed.wait(value).unwrap();
        }
        *value -= 1;
    }
}

/// Items that each sleep for 100 ms, each on a thread of its own.
fn sleepers(row: &'static str) -> Operation {
    let mut operation = Operation::new(row, "Rust thread", 64, |n, meter| {
        let last = Arc::new(AtomicU64::new(0));
        let done = Countdown::new(n);
        let begin = now();
        for _ in 0..n {
            let (last, done) = (last.clone(), done.clone());
            spawn(move || {
                last.fetch_max(now() - begin, Ordering::Relaxed);
                sleep(100_000_000);
                done.arrive();
            });
        }
        done.wait();
        meter.report("all-started", last.load(Ordering::Relaxed) as f64);
        meter.report("all-done", (now() - begin) as f64);
    });
    operation.cold = true;
    operation
}

pub fn operations() -> Vec<Operation> {
    vec![
        end_to_end("A.serial-async-1p", |queue, n| {
            for _ in 0..n {
                queue.send(Box::new(|| {})).unwrap();
            }
        }),
        end_to_end("A.capture-3-words", |queue, n| {
            for i in 0..n {
                let next = i + 1;
                queue.send(Box::new(move || consume(i + next + n))).unwrap();
            }
        }),
        producers("A.2p-1-queue", 1),
        producers("A.2p-2-queues", 2),
        Operation::new("F.async-signal-wait", "Rust mpsc", 10_000, |n, _| {
            let (sender, _thread) = queue();
            let semaphore = Arc::new(Semaphore::default());
            for _ in 0..n {
                let signalled = semaphore.clone();
                sender.send(Box::new(move || signalled.signal())).unwrap();
                semaphore.wait();
            }
        }),
        Operation::new("F.semaphore-ping-pong", "Rust Condvar", 10_000, |n, meter| {
            let semaphores = [Semaphore::default(), Semaphore::default()];
            crew(2, true, meter, |index| {
                for _ in 0..n / 2 {
                    if index == 0 {
                        semaphores[1].signal();
                    }
                    semaphores[index].wait();
                    if index == 1 {
                        semaphores[0].signal();
                    }
                }
            });
        }),
        Operation::new("F.semaphore-uncontended", "Rust Condvar", 1_000_000, |n, _| {
            let semaphore = Semaphore::default();
            for _ in 0..n {
                semaphore.signal();
                semaphore.wait();
            }
        }),
        sleepers("L.64-sleeps-global"),
        sleepers("L.64-sleeps-private"),
        sleepers("L.64-sleeps-64-queues"),
    ]
}
