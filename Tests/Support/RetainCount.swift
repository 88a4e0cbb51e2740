// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

@_silgen_name("swift_retainCount")
private func swiftRetainCount(_ object: UnsafeMutableRawPointer) -> Int

/// How many strong references to `object` there are: who keeps it alive.
public func retainCount(of object: AnyObject) -> Int {
  swiftRetainCount(Unmanaged.passUnretained(object).toOpaque())
}
