import { type OpenGroup, TestGroup } from '@coll/testing';

/** Groups whose members have no blocking calls: NCCL's. */
export function blockingNoThread(open: OpenGroup): OpenGroup {
  return async (algorithm, size) => {
    const { members } = await open(algorithm, size);
    return new TestGroup({ members, canBlock: false });
  };
}
