// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

//! Clocks, processors and work, as the duel has them.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    fn sched_getaffinity(thread: i32, size: usize, mask: *mut u64) -> i32;
    fn sched_setaffinity(thread: i32, size: usize, mask: *const u64) -> i32;
}

fn read_clock(clock: i32) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(clock, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

pub fn now() -> u64 {
    read_clock(1)
}

pub fn process_cpu() -> u64 {
    read_clock(2)
}

pub fn sleep(nanoseconds: u64) {
    std::thread::sleep(Duration::from_nanos(nanoseconds));
}

pub fn usable_processors() -> Vec<usize> {
    let mut mask = [0u64; 16];
    unsafe { sched_getaffinity(0, std::mem::size_of_val(&mask), mask.as_mut_ptr()) };
    (0..mask.len() * 64).filter(|i| mask[i / 64] >> (i % 64) & 1 == 1).collect()
}

pub fn pin(processor: usize) {
    let mut mask = [0u64; 16];
    mask[processor / 64] = 1 << (processor % 64);
    unsafe { sched_setaffinity(0, std::mem::size_of_val(&mask), mask.as_ptr()) };
}

/// Makes the compiler believe that the value is used.
#[inline(always)]
pub fn consume(value: u64) {
    unsafe { asm!("/* {0} */", in(reg) value, options(nomem, nostack, preserves_flags)) };
}

#[inline(always)]
fn steps(count: u64) {
    let mut value = count | 1;
    for _ in 0..count {
        value = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        unsafe { asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) };
    }
}

static STEPS_PER_MICROSECOND: AtomicU64 = AtomicU64::new(0);

/// Once, before the first call of `spin`.
pub fn calibrate() {
    let count = 1_000_000;
    let best = (0..5).map(|_| {
        let begin = now();
        steps(count);
        now() - begin
    });
    let result = count * 1000 / best.min().unwrap().max(1);
    STEPS_PER_MICROSECOND.store(result.max(1), Ordering::Relaxed);
}

/// Keeps the processor busy.
pub fn spin(nanoseconds: u64) {
    steps(nanoseconds * STEPS_PER_MICROSECOND.load(Ordering::Relaxed) / 1000);
}

/// SplitMix64: the same numbers in each run.
#[cfg(feature = "crates")]
pub struct Numbers(pub u64);

#[cfg(feature = "crates")]
impl Numbers {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}
