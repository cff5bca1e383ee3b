import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

/** Points this process, and those that it starts, at the test doubles of both libraries, with four devices. Imported for its effect. */
const folder = path.resolve(import.meta.dirname, '..');
const built = (file: string) => path.join(folder, 'build/release', file);

if (!process.env['COLL_CUDA_LIBRARY']) {
  try {
    execFileSync(process.execPath, [path.join(folder, 'build.mjs'), 'doubles'], { stdio: 'pipe' });
  } catch (error) {
    // Without a C++ compiler there is nothing to test; with one, whatever is wrong shows in the tests of C++.
    console.warn(`the doubles of CUDA and NCCL cannot be built: ${(error as { stderr?: Buffer }).stderr}`);
  }
}

process.env['COLL_CUDA_LIBRARY'] = built('libcoll-double-cuda.so');
process.env['COLL_NCCL_LIBRARY'] = built('libcoll-double-nccl.so');
process.env['COLL_DOUBLE_DEVICES'] ??= '4';

/** Whether there are the doubles, and the addon. */
export const hasDoubles: boolean = ['coll_nccl.node', 'libcoll-double-cuda.so', 'libcoll-double-nccl.so'].every(
  (file) => existsSync(built(file)),
);

export const fourGpus: readonly string[] = ['gpu:0', 'gpu:1', 'gpu:2', 'gpu:3'];
