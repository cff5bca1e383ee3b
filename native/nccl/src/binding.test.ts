import { describe, expect, it } from 'vitest';
import { findBinding } from './binding.js';
import { ncclInterface } from './nccl-binding.js';

const nowhere = { explicit: undefined, built: '/nowhere.node', platform: 'linux', architecture: 'x64' } as const;
const missing = (name: string): never => {
  throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
};

describe('findBinding', () => {
  it.each(['darwin', 'win32'])('reports that NCCL is not available on %s', (platform) => {
    expect(findBinding({ ...nowhere, platform })).toEqual({
      failure: `NCCL is available on Linux only, not on ${platform}`,
    });
  });

  it('names the package to install if no binary is found', () => {
    expect(findBinding({ ...nowhere, load: missing })).toEqual({
      failure:
        'the addon cannot be loaded from @coll/nccl-linux-x64-gnu: not installed: npm install @coll/nccl-linux-x64-gnu',
    });
  });

  it('tries only COLL_NCCL_PATH if it is set', () => {
    const found = findBinding({ ...nowhere, explicit: '/mine.node', built: import.meta.filename, load: missing });
    expect(found).toEqual({ failure: 'the addon cannot be loaded from COLL_NCCL_PATH=/mine.node: no such file' });
  });

  it('returns the binary if it can be loaded', () => {
    const binding = { interface: ncclInterface };
    expect(findBinding({ ...nowhere, built: import.meta.filename, load: () => binding })).toEqual({ binding });
  });
});
