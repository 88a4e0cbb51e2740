// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A program that hangs, in one of three ways, or is slow, in one of two. Documentation/Hangs.md and Documentation/Slow.md find out
// why.
//
//   photo-import deadlock    two queues call sync to each other
//   photo-import slot        an error path keeps a slot of a semaphore
//   photo-import paused      a queue that was suspended is not resumed
//   photo-import import      what could be done at the same time is done on one queue
//   photo-import mended      the same with its fault mended
//   photo-import window      a slow item holds up the main queue

import Glibc
import GrandCentral

/// The photos that have been imported. Its queue guards it.
let library = DispatchQueue(label: "photos.library")
let thumbnails = DispatchQueue(label: "photos.thumbnails")
/// So many photos are decoded at a time.
let slots = DispatchSemaphore(value: 1)

/// As long as reading and drawing take.
func work(milliseconds: UInt32) { usleep(milliseconds * 1000) }

/// Each queue's item needs the other queue before it can end.
func deadlock() {
  library.async {
    work(milliseconds: 20)
    thumbnails.sync { print("thumbnail of the photo that was added last") }
  }
  thumbnails.async {
    work(milliseconds: 120)
    library.sync { print("where the photo lies") }
  }
}

/// Decodes a photo. The broken one returns before its slot is given back.
func decode(_ photo: String) {
  slots.wait()
  if photo.hasSuffix(".broken") { return }
  work(milliseconds: 20)
  slots.signal()
}

func slot() {
  library.async {
    for photo in ["beach.jpg", "forest.broken", "tower.jpg"] { decode(photo) }
  }
  // The import is over when the library's queue has come this far.
  work(milliseconds: 60)
  library.sync {}
  print("imported")
}

func paused() {
  thumbnails.suspend()
  // Here a settings page was shown; it was left by a way that resumes nothing.
  thumbnails.sync { print("drawn") }
}

/// Reads 40 photos, draws their thumbnails, and notes them in the library. Only the last of these needs the library's queue.
func importAll() {
  let reading = DispatchQueue(label: "photos.reading", attributes: .concurrent)
  let imported = DispatchGroup()
  for _ in 0..<40 {
    reading.async(group: imported) {
      work(milliseconds: 2)
      library.async(group: imported) { drawAndNote() }
    }
  }
  imported.wait()
}

func drawAndNote() {
  draw()
  note()
}

func draw() { work(milliseconds: 9) }
func note() { work(milliseconds: 1) }

func importMended() {
  let reading = DispatchQueue(label: "photos.reading", attributes: .concurrent)
  let imported = DispatchGroup()
  for _ in 0..<40 {
    reading.async(group: imported) {
      work(milliseconds: 2)
      draw()
      library.async(group: imported, execute: note)
    }
  }
  imported.wait()
}

/// A window that shows each photo as it comes. One update of it reads a file.
func window() {
  for photo in 0..<20 {
    library.asyncAfter(deadline: .now() + .milliseconds(10 * photo)) {
      DispatchQueue.main.async(execute: photo == 7 ? readSettings : showProgress)
      if photo == 19 { DispatchQueue.main.async { exit(0) } }
    }
  }
}

func showProgress() { work(milliseconds: 1) }
func readSettings() { work(milliseconds: 300) }

switch CommandLine.arguments.dropFirst().first {
case "deadlock": deadlock()
case "slot": slot()
case "paused": paused()
case "import":
  importAll()
  exit(0)
case "mended":
  importMended()
  exit(0)
case "window": window()
default:
  print("usage: photo-import deadlock | slot | paused | import | mended | window")
  exit(64)
}
dispatchMain()
