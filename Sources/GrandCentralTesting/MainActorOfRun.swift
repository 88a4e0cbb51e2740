// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The drop-in simulates whole programs, whose main thread is Swift's as well. The hooks are called as C functions are on these machines.
#if !GRANDCENTRAL_DROPIN && (arch(x86_64) || arch(arm64))
  import Glibc
  import GrandCentral

  /// Has Swift take the first thread of a run, which stands for the main thread, for the main actor's.
  ///
  /// A body that is written in a `@MainActor` function belongs to the main actor, as the compiler infers it. So does what an item of the
  /// main queue does in `MainActor.assumeIsolated`. Swift ends the process where it finds that the thread is not the actor's, and knows
  /// the process's main thread alone. That one waits meanwhile for the simulation that it has begun.
  enum MainActorOfRun {
    /// The executor that is meant, and Swift's own answer.
    private typealias Answers = @convention(c) (_ identity: UInt, _ witness: UInt, _ own: UnsafeRawPointer?) -> Int8
    private typealias OwnAnswer = @convention(c) (_ identity: UInt, _ witness: UInt) -> Int8

    // unsafe: such a reference is two words, the first one of which says which executor it is.
    private static let mainExecutor = unsafeBitCast(MainActor.sharedUnownedExecutor, to: (UInt, UInt).self).0

    private static func isHere(_ identity: UInt) -> Bool { identity == mainExecutor && SimulationSupport.isFirst }

    /// Asked once in a process, by the first simulation. A runtime that has no such hooks is left alone.
    static let isTaught: Bool = {
      let answers: Answers = { identity, witness, own in
        if MainActorOfRun.isHere(identity) { return 1 }
        // unsafe: Swift hands over its own function, of these arguments.
        return unsafeBitCast(own, to: OwnAnswer.self)(identity, witness)
      }
      return ["swift_task_isIsolatingCurrentContext_hook", "swift_task_checkIsolated_hook"].allSatisfy {
        // unsafe: the hook is a variable of the runtime's for such a function; for the second one, whose result is nothing, too.
        guard let hook = dlsym(nil, $0)?.assumingMemoryBound(to: Answers?.self), hook.pointee == nil else {
          return false
        }
        hook.pointee = answers
        return true
      }
    }()
  }
#else
  enum MainActorOfRun { static let isTaught = false }
#endif
