// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

//! A, F: an unbounded crossbeam channel to a thread.

use crate::meter::{crew, Operation};
use crate::system::{consume, now, sleep};
use crossbeam_channel::{bounded, unbounded, Sender};
use std::thread::{spawn, JoinHandle};

type Item = Box<dyn FnOnce() + Send>;

const PEER: &str = "crossbeam";

/// A serial queue: a thread that calls what comes out of a channel.
fn queue() -> (Sender<Item>, JoinHandle<()>) {
    let (sender, receiver) = unbounded::<Item>();
    (sender, spawn(move || receiver.into_iter().for_each(|item| item())))
}

fn end_to_end(row: &'static str, submit: impl Fn(&Sender<Item>, u64) + 'static) -> Operation {
    Operation::new(row, PEER, 400_000, move |n, meter| {
        let (sender, thread) = queue();
        meter.start();
        submit(&sender, n);
        drop(sender);
        thread.join().unwrap();
        meter.stop();
    })
}

fn producers(row: &'static str, queues: usize) -> Operation {
    Operation::new(row, PEER, 200_000, move |n, meter| {
        let (senders, threads): (Vec<_>, Vec<_>) = (0..queues).map(|_| queue()).unzip();
        crew(2, false, meter, |index| {
            for _ in 0..n / 2 {
                senders[index % queues].send(Box::new(|| {})).unwrap();
            }
        });
        drop(senders);
        for thread in threads {
            thread.join().unwrap();
        }
        meter.stop();
    })
}

/// An item that submits itself to its own channel.
fn hop(queue: Sender<Item>, left: u64) {
    if left > 0 {
        let next = queue.clone();
        queue.send(Box::new(move || hop(next, left - 1))).unwrap();
    }
}

pub fn operations() -> Vec<Operation> {
    vec![
        end_to_end("A.serial-async-1p", |queue, n| {
            for _ in 0..n {
                queue.send(Box::new(|| {})).unwrap();
            }
        }),
        Operation::new("A.enqueue-only", PEER, 400_000, |n, meter| {
            let (sender, _receiver) = unbounded::<Item>();
            meter.start();
            for _ in 0..n {
                sender.send(Box::new(|| {})).unwrap();
            }
            meter.stop();
        }),
        Operation::new("A.drain-only", PEER, 400_000, |n, meter| {
            let (sender, receiver) = unbounded::<Item>();
            for _ in 0..n {
                sender.send(Box::new(|| {})).unwrap();
            }
            drop(sender);
            meter.start();
            receiver.into_iter().for_each(|item| item());
            meter.stop();
        }),
        producers("A.2p-1-queue", 1),
        producers("A.2p-2-queues", 2),
        end_to_end("A.capture-3-words", |queue, n| {
            for i in 0..n {
                let next = i + 1;
                queue.send(Box::new(move || consume(i + next + n))).unwrap();
            }
        }),
        Operation::new("A.idle-queue", PEER, 300, |n, meter| {
            let (sender, _thread) = queue();
            let (started, start) = bounded::<u64>(1);
            let mut latencies = vec![];
            let mut calls = vec![];
            for _ in 0..n {
                sleep(200_000);
                let started = started.clone();
                let before = now();
                sender.send(Box::new(move || started.send(now()).unwrap())).unwrap();
                calls.push(now() - before);
                latencies.push(start.recv().unwrap() - before);
            }
            meter.report_percentiles(latencies, "");
            meter.report_percentiles(calls, "caller-");
        }),
        Operation::new("A.self-hop", PEER, 200_000, |n, meter| {
            let (sender, thread) = queue();
            meter.start();
            hop(sender, n);
            thread.join().unwrap();
            meter.stop();
        }),
        Operation::new("F.async-signal-wait", PEER, 20_000, |n, _| {
            let (sender, _thread) = queue();
            let (signal, wait) = bounded::<()>(1);
            for _ in 0..n {
                let signal = signal.clone();
                sender.send(Box::new(move || signal.send(()).unwrap())).unwrap();
                wait.recv().unwrap();
            }
        }),
        Operation::new("F.semaphore-ping-pong", PEER, 20_000, |n, meter| {
            let ends = [bounded::<()>(1), bounded::<()>(1)];
            crew(2, true, meter, |index| {
                for _ in 0..n / 2 {
                    if index == 0 {
                        ends[1].0.send(()).unwrap();
                    }
                    ends[index].1.recv().unwrap();
                    if index == 1 {
                        ends[0].0.send(()).unwrap();
                    }
                }
            });
        }),
        Operation::new("F.semaphore-uncontended", PEER, 1_000_000, |n, _| {
            let (signal, wait) = bounded::<()>(1);
            for _ in 0..n {
                signal.send(()).unwrap();
                wait.recv().unwrap();
            }
        }),
        Operation::new("F.async-sync", PEER, 20_000, |n, _| {
            let (sender, _thread) = queue();
            let (signal, wait) = bounded::<()>(1);
            for _ in 0..n {
                let signal = signal.clone();
                sender.send(Box::new(|| {})).unwrap();
                sender.send(Box::new(move || signal.send(()).unwrap())).unwrap();
                wait.recv().unwrap();
            }
        }),
    ]
}
