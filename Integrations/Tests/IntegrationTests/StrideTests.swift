// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Foundation
import GrandCentral
import GrandCentralOpenCombine
import Testing

private typealias Time = GrandCentral.DispatchQueue.SchedulerTimeType
private typealias Stride = Time.Stride

@Suite("GrandCentralOpenCombine counts time as Combine does")
struct StrideTests {
  @Test("literals are seconds; intervals are what they say; never is the longest")
  func making() {
    #expect((2 as Stride) == .seconds(2))
    #expect((0.25 as Stride) == .milliseconds(250))
    #expect(Stride.seconds(2.5).magnitude == 2_500_000_000)
    #expect(Stride.microseconds(3) == .nanoseconds(3_000))
    #expect(Stride(.milliseconds(7)).timeInterval == .nanoseconds(7_000_000))
    #expect(Stride(.never).magnitude == .max)
    #expect(Stride(exactly: 3) == 3)
    #expect(Stride(exactly: UInt64.max) == nil)
  }

  @Test("what does not fit stays at the end of the range")
  func saturation() {
    #expect(Stride.seconds(Int.max).magnitude == .max)
    #expect(Stride.seconds(Int.min).magnitude == .min)
    #expect(Stride.seconds(-1e300).magnitude == .min)
    #expect(Stride.seconds(.infinity).magnitude == .max)
    #expect(Stride.seconds(.nan) == 0)
    #expect((.nanoseconds(.max) + 1 as Stride).magnitude == .max)
    #expect((.nanoseconds(.min) + -1 as Stride).magnitude == .min)
    #expect((.nanoseconds(.min) - 1 as Stride).magnitude == .min)
    #expect((0 - .nanoseconds(.min) as Stride).magnitude == .max)
    #expect((.seconds(1 << 33) * .seconds(1 << 33) as Stride).magnitude == .max)
    #expect((.seconds(1 << 33) * .seconds(-1 << 33) as Stride).magnitude == .min)
  }

  @Test("sums, differences and products are those of seconds")
  func arithmetic() {
    var stride: Stride = 5
    stride += 1
    stride -= .milliseconds(500)
    stride *= 2
    #expect(stride == 11)
    #expect(-stride == -11)
    #expect((1 as Stride) * stride == stride)
    #expect((0.5 as Stride) * -3 == -1.5)
    #expect(Stride.nanoseconds(18) * .microseconds(1) == 0)
    #expect([3, -1, 0.5].sorted() == [-1, 0.5, 3] as [Stride])
  }

  @Test("times are as far apart as one is advanced to get the other")
  func distances() {
    let time = Time(DispatchTime(uptimeNanoseconds: 10_000_000_000))
    #expect(time.advanced(by: 2).dispatchTime.uptimeNanoseconds == 12_000_000_000)
    #expect(time.distance(to: time.advanced(by: -3.5)) == -3.5)
    #expect(time.advanced(by: .nanoseconds(.max)).dispatchTime == .distantFuture)
    #expect(time.distance(to: Time(.distantFuture)).magnitude == .max)
    #expect(time < time.advanced(by: .nanoseconds(1)))
  }

  @Test("they are written as Combine writes them, and read again")
  func coding() throws {
    let time = Time(DispatchTime(uptimeNanoseconds: 42))
    let text = try JSONEncoder().encode(["time": time])
    #expect(String(decoding: text, as: UTF8.self) == #"{"time":42}"#)
    #expect(try JSONDecoder().decode([String: Time].self, from: text) == ["time": time])
    let stride = try JSONEncoder().encode(Stride.nanoseconds(419_872))
    #expect(String(decoding: stride, as: UTF8.self) == #"{"_nanoseconds":419872}"#)
    #expect(try JSONDecoder().decode(Stride.self, from: stride) == .nanoseconds(419_872))
  }
}
