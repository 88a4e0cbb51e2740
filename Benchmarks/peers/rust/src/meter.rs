// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

//! What an operation is, what it costs, and the threads that begin together.

use crate::system::{now, pin, process_cpu, sleep, usable_processors};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};

/// The number of processors that the threads of a pool run on.
#[cfg(feature = "crates")]
pub const TEAM: usize = 2;

/// Does that many operations and returns when all have completed.
pub type Body = Box<dyn Fn(u64, &mut Meter)>;

pub struct Operation {
    pub row: &'static str,
    pub peer: &'static str,
    pub count: u64,
    /// A run before the rounds would leave threads behind that the operation is to start.
    pub cold: bool,
    pub body: Body,
}

impl Operation {
    pub fn new(
        row: &'static str,
        peer: &'static str,
        count: u64,
        body: impl Fn(u64, &mut Meter) + 'static,
    ) -> Operation {
        Operation { row, peer, count, cold: false, body: Box::new(body) }
    }
}

/// Runs from the call of the body to its return, unless the body starts or stops it.
#[derive(Default)]
pub struct Meter {
    begin: (u64, u64),
    end: Option<(u64, u64)>,
    reports: Vec<(String, f64)>,
}

impl Meter {
    pub fn start(&mut self) {
        self.end = None;
        let cpu = process_cpu();
        self.begin = (now(), cpu);
    }

    pub fn stop(&mut self) {
        if self.end.is_none() {
            let wall = now();
            self.end = Some((wall, process_cpu()));
        }
    }

    /// Reports a figure of the operation's own, in nanoseconds.
    pub fn report(&mut self, part: &str, nanoseconds: f64) {
        self.reports.push((part.to_string(), nanoseconds));
    }

    #[cfg(feature = "crates")]
    pub fn report_percentiles(&mut self, mut latencies: Vec<u64>, prefix: &str) {
        latencies.sort();
        self.report(&format!("{prefix}p50"), latencies[latencies.len() / 2] as f64);
        self.report(&format!("{prefix}p99"), latencies[latencies.len() * 99 / 100] as f64);
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

pub fn measure(operation: &Operation, count: u64, rounds: u64) {
    let mut figures: Vec<(String, Vec<f64>)> = vec![];
    let mut cpu = vec![];
    let warming = u64::from(!operation.cold);
    for round in 0..rounds + warming {
        sleep(1_000_000);
        let mut meter = Meter::default();
        meter.start();
        (operation.body)(count, &mut meter);
        meter.stop();
        if round < warming {
            continue;
        }
        let end = meter.end.unwrap();
        cpu.push((end.1 - meter.begin.1) as f64 / count as f64);
        let mut reports = meter.reports;
        if reports.is_empty() {
            reports.push((String::new(), (end.0 - meter.begin.0) as f64 / count as f64));
        }
        for (part, value) in reports {
            match figures.iter_mut().find(|figure| figure.0 == part) {
                Some(figure) => figure.1.push(value),
                None => figures.push((part, vec![value])),
            }
        }
    }
    let cpu = median(&mut cpu);
    for (part, mut values) in figures {
        let dot = if part.is_empty() { "" } else { "." };
        println!(
            "{{\"row\": \"{}{dot}{part}\", \"peer\": \"{}\", \"nanoseconds\": {:.3}, \"cpu\": {cpu:.3}}}",
            operation.row,
            operation.peer,
            median(&mut values),
        );
    }
}

/// Calls the body with 0..threads, each on a thread of its own. The meter starts when all are ready.
pub fn crew(threads: usize, pinned: bool, meter: &mut Meter, body: impl Fn(usize) + Sync) {
    let processors = usable_processors();
    let ready = Barrier::new(threads + 1);
    let go = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        for index in 0..threads {
            let (ready, go, body) = (&ready, &go, &body);
            let processor = processors[index % processors.len()];
            scope.spawn(move || {
                if pinned {
                    pin(processor);
                }
                ready.wait();
                go.wait();
                body(index);
            });
        }
        ready.wait();
        meter.start();
        go.wait();
    });
}

/// Lets the waiter go at the last of a number of arrivals.
#[derive(Clone)]
pub struct Countdown(Arc<CountdownState>);

struct CountdownState {
    left: AtomicU64,
    done: Mutex<bool>,
    changed: Condvar,
}

impl Countdown {
    pub fn new(count: u64) -> Countdown {
        let left = AtomicU64::new(count);
        Countdown(Arc::new(CountdownState { left, done: Mutex::new(false), changed: Condvar::new() }))
    }

    pub fn arrive(&self) {
        if self.0.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            *self.0.done.lock().unwrap() = true;
            self.0.changed.notify_all();
        }
    }

    pub fn wait(&self) {
        let mut done = self.0.done.lock().unwrap();
        while !*done {
            done = self.0.changed.wait(done).unwrap();
        }
    }
}
