import type { CollError, ErrorCode, RunOptions, Tensor, ThreadGroup } from '@coll/core';
import { ThreadCommunicator } from '@coll/core/internal';
import { createThreadGroup } from '@coll/core/plugin';
import type { MakeCommunicator } from '@coll/testing';

type Run = Parameters<ThreadCommunicator['run']>;
type MemberClass = new (...parameters: ConstructorParameters<typeof ThreadCommunicator>) => ThreadCommunicator;

class HasNoPatience extends ThreadCommunicator {
  override run(...[collective, inputs, outputs, options]: Run): Promise<void> {
    const isEndless = options !== undefined && !options.timeoutSeconds;
    return super.run(collective, inputs, outputs, isEndless ? { ...options, timeoutSeconds: 0.001 } : options);
  }
}

class IgnoresDeadlines extends ThreadCommunicator {
  override run(...[collective, inputs, outputs, options = {}]: Run): Promise<void> {
    const { timeoutSeconds: _, ...others }: RunOptions = options;
    return super.run(collective, inputs, outputs, others);
  }
}

class LeavesInSilence extends ThreadCommunicator {
  override async close(): Promise<void> {}
}

class BlamesNobody extends ThreadCommunicator {
  override async run(...call: Run): Promise<void> {
    try {
      await super.run(...call);
    } catch (error) {
      const { constructor: Class, code, message } = error as CollError;
      throw new (Class as new (code: ErrorCode, message: string) => Error)(code, message);
    }
  }
}

class NoticesNoLength extends ThreadCommunicator {
  override run(...[collective, inputs, outputs, options]: Run): Promise<void> {
    const cut = (tensors: typeof inputs) =>
      collective.kind === 'broadcast'
        ? (tensors as readonly Tensor[]).map((tensor) => ({ ...tensor, data: tensor.data.subarray(0, 3), shape: [3] }))
        : tensors;
    return super.run(collective, cut(inputs), cut(outputs), options);
  }
}

class LosesReasons extends ThreadCommunicator {
  override async run(...call: Run): Promise<void> {
    try {
      await super.run(...call);
    } catch (error) {
      Object.defineProperty(error, 'cause', { value: undefined });
      throw error;
    }
  }
}

/** Members of groups with one thing wrong, and a test of the suite that must notice. */
export const brokenMembers: readonly (readonly [double: MemberClass, test: RegExp])[] = [
  [HasNoPatience, /waits for late members/],
  [IgnoresDeadlines, /did not arrive by the deadline/],
  [LeavesInSilence, /when a member leaves/],
  [BlamesNobody, /detects another op/],
  [NoticesNoLength, /another length of a broadcast/],
  [LosesReasons, /aborted at once/],
];

/** A group of such members in one thread. */
export function membersOf(Member: MemberClass): MakeCommunicator {
  return (algorithm, size) => {
    const group: ThreadGroup = createThreadGroup({ size });
    const ranks = Array.from({ length: size }, (_, rank) => rank);
    return ranks.map((rank) => new Member(group, { rank, algorithm }));
  };
}
