// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Draws pictures, blurs and shrinks them, finds those that are the same, and writes all of them as one contact sheet.
//
//   swift run -c release image-pipeline [COUNT [SHEET.ppm]]
//
//   drawing (concurrent) ──▶ blurring (all processors) ──▶ catalogue (readers beside each other, writers alone)
//       a permit for each picture ◀──┘
//
// Shows: a concurrent queue, a semaphore that bounds the memory, `concurrentPerform` for the rows of one picture, and a
// dictionary that a queue guards: many read it at the same time, and a barrier changes it.

import Glibc

#if TWIN
  import Dispatch
#else
  import GrandCentral
#endif

@main
enum ImagePipeline {
  static func main() {
    let arguments = CommandLine.arguments
    let count = arguments.count > 1 ? max(1, Int(arguments[1]) ?? 48) : 48
    let catalogue = Catalogue()
    drawAll(count, into: catalogue)
    catalogue.printSummary()
    if arguments.count > 2 { catalogue.writeSheet(to: arguments[2]) }
  }

  /// Returns when all pictures are in the catalogue.
  static func drawAll(_ count: Int, into catalogue: Catalogue) {
    let drawing = DispatchQueue(label: "image-pipeline.drawing", attributes: .concurrent)
    // A picture and its blurred copy take half a megabyte. So many are in memory at a time, however many there are.
    let permits = DispatchSemaphore(value: 8)
    let work = DispatchGroup()
    for number in 0..<count {
      permits.wait()
      drawing.async(group: work) {
        // Each fourth picture shows a motif again. The catalogue knows it, and the expensive step is left out.
        let motif = number % 4 == 3 ? number - 3 : number
        if !catalogue.repeats(motif: motif, number: number) {
          let picture = Picture(motif: motif, width: 512, height: 512)
          catalogue.add(picture.blurred().shrunk(by: 8), motif: motif)
        }
        permits.signal()
      }
    }
    work.wait()
  }
}

/// A picture in shades of grey. It is a value: what one thread makes, others may read.
struct Picture: Sendable {
  let width: Int
  let height: Int
  var shades: [UInt8]

  /// Draws a part of the Mandelbrot set. Each motif looks elsewhere.
  init(motif: Int, width: Int, height: Int) {
    (self.width, self.height) = (width, height)
    let (left, top) = (-1.5 + Double(motif % 7) * 0.12, -0.9 + Double(motif / 7 % 9) * 0.1)
    let step = 1.2 / Double(width) / Double(1 + motif % 3)
    shades = (0..<width * height).map { place in
      let (x, y) = (left + Double(place % width) * step, top + Double(place / width) * step)
      var (real, imaginary) = (0.0, 0.0)
      var count = 0
      while count < 63, real * real + imaginary * imaginary < 4 {
        (real, imaginary) = (real * real - imaginary * imaginary + x, 2 * real * imaginary + y)
        count += 1
      }
      return UInt8(count * 4)
    }
  }

  private init(width: Int, height: Int, shades: [UInt8]) {
    (self.width, self.height, self.shades) = (width, height, shades)
  }

  /// Each point becomes the mean of the 81 points around it. The rows are divided among the processors.
  func blurred() -> Picture {
    let rowsAtATime = 64
    let bytes = [UInt8](unsafeUninitializedCapacity: width * height) { buffer, count in
      // unsafe: each iteration writes rows of its own, and all have ended before the buffer goes.
      nonisolated(unsafe) let target = buffer
      DispatchQueue.concurrentPerform(iterations: (height + rowsAtATime - 1) / rowsAtATime) { strip in
        for y in strip * rowsAtATime..<min(height, (strip + 1) * rowsAtATime) {
          for x in 0..<width { target[y * width + x] = meanAround(x, y) }
        }
      }
      count = width * height
    }
    return Picture(width: width, height: height, shades: bytes)
  }

  private func meanAround(_ x: Int, _ y: Int) -> UInt8 {
    var (sum, count) = (0, 0)
    for row in max(0, y - 4)...min(height - 1, y + 4) {
      for column in max(0, x - 4)...min(width - 1, x + 4) {
        sum += Int(shades[row * width + column])
        count += 1
      }
    }
    return UInt8(sum / count)
  }

  /// Takes one point of each square of `factor` points by `factor` points.
  func shrunk(by factor: Int) -> Picture {
    let (width, height) = (width / factor, height / factor)
    let shades = (0..<width * height).map { self.shades[$0 / width * factor * self.width + $0 % width * factor] }
    return Picture(width: width, height: height, shades: shades)
  }

  var mean: Int { shades.reduce(0) { $0 + Int($1) } / max(1, shades.count) }
}

/// The pictures that have been made.
final class Catalogue: @unchecked Sendable {  // `queue` guards it: items without a barrier read, items with one write
  private let queue = DispatchQueue(label: "image-pipeline.catalogue", attributes: .concurrent)
  private var pictures: [Int: Picture] = [:]
  private var numbers: [Int: [Int]] = [:]

  /// Notes that the picture with this number shows the motif. Says whether another picture has come with it before.
  func repeats(motif: Int, number: Int) -> Bool {
    // A look beside other readers is cheap, and most motifs are new. The barrier decides: two may have looked at once.
    let isKnown = queue.sync { numbers[motif] != nil }
    return queue.sync(flags: .barrier) {
      numbers[motif, default: []].append(number)
      return isKnown || numbers[motif]?.count != 1
    }
  }

  /// Adds a picture, some time after this has returned. What is submitted afterwards sees it: nothing overtakes a barrier.
  func add(_ picture: Picture, motif: Int) {
    queue.async(flags: .barrier) { self.pictures[motif] = picture }
  }

  func printSummary() {
    queue.sync {
      for (motif, picture) in pictures.sorted(by: { $0.key < $1.key }) {
        let same = numbers[motif, default: []].sorted().map(String.init).joined(separator: " ")
        print("motif \(motif): mean \(picture.mean), pictures \(same)")
      }
      print("\(numbers.values.reduce(0) { $0 + $1.count }) pictures, \(pictures.count) motifs")
    }
  }

  /// Writes the small pictures beside each other, eight in a row, as a portable grey map.
  func writeSheet(to path: String) {
    let all = queue.sync { pictures.sorted { $0.key < $1.key }.map(\.value) }
    guard let first = all.first, let file = fopen(path, "w") else { return perror("image-pipeline: \(path)") }
    defer { fclose(file) }
    let rows = (all.count + 7) / 8
    fputs("P5 \(8 * first.width) \(rows * first.height) 255\n", file)
    for y in 0..<rows * first.height {
      for column in 0..<8 {
        let place = y / first.height * 8 + column
        let begin = y % first.height * first.width
        let line =
          place < all.count
          ? all[place].shades[begin..<begin + first.width] : [UInt8](repeating: 0, count: first.width)[...]
        _ = line.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
      }
    }
  }
}
