// The addon that COLL_NCCL_PATH names, on the doubles that were built with it.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';

const addon = process.env.COLL_NCCL_PATH;
const folder = path.dirname(addon);
export const binding = createRequire(import.meta.url)(addon);
const found = binding.probe({
  cudaLibrary: path.join(folder, 'libcoll-double-cuda.so'),
  ncclLibrary: path.join(folder, 'libcoll-double-nccl.so'),
  nvmlLibrary: path.join(folder, 'libcoll-double-nvml.so'),
});
assert.ok(found.nccl.isDouble, found.nccl.failure ?? found.driver.failure);
