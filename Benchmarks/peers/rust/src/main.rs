// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

//! The operations of the duel in Rust: with the standard library, and with rayon, crossbeam and tokio where they are.

#[cfg(feature = "crates")]
mod crossbeam_rows;
mod locks;
mod meter;
#[cfg(feature = "crates")]
mod rayon_rows;
mod system;
mod threads;
#[cfg(feature = "crates")]
mod tokio_rows;

use meter::{measure, Operation};

fn operations() -> Vec<Operation> {
    let mut all = locks::operations();
    all.extend(threads::operations());
    #[cfg(feature = "crates")]
    {
        all.extend(crossbeam_rows::operations());
        all.extend(rayon_rows::operations());
        all.extend(tokio_rows::operations());
    }
    all
}

fn usage() -> ! {
    eprintln!("usage: rust [--list] [--rounds N] [ROW [COUNT]]");
    std::process::exit(2)
}

fn number(text: Option<String>) -> u64 {
    match text.and_then(|text| text.parse().ok()) {
        Some(number) if number > 0 => number,
        _ => usage(),
    }
}

fn main() {
    let mut rounds = 5;
    let mut row = None;
    let mut count = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => {
                for operation in operations() {
                    println!("{}", operation.row);
                }
                return;
            }
            "--rounds" => rounds = number(arguments.next()),
            option if option.starts_with('-') => usage(),
            _ if row.is_none() => row = Some(argument),
            _ => count = Some(number(Some(argument))),
        }
    }
    // A process that never had a second thread gets some things cheaper from the C library.
    std::thread::spawn(|| {}).join().unwrap();
    system::calibrate();
    for operation in operations() {
        if row.as_deref().map_or(true, |row| row == operation.row) {
            measure(&operation, count.unwrap_or(operation.count), rounds);
        }
    }
}
