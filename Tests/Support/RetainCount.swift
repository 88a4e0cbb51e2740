// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

@_silgen_name("swift_retainCount")
private func swiftRetainCount(_ object: UnsafeMutableRawPointer) -> Int

/// How many strong references keep `object` alive.
public func retainCount(of object: AnyObject) -> Int {
  swiftRetainCount(Unmanaged.passUnretained(object).toOpaque())
}
