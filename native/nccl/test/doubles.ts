import path from 'node:path';

/** Points this process, and those that it starts, at the test doubles of the libraries, with four devices. Imported for its effect. */
const folder = path.resolve(import.meta.dirname, '..');
const built = (file: string) => path.join(folder, 'build/release', file);

process.env['COLL_CUDA_LIBRARY'] = built('libcoll-double-cuda.so');
process.env['COLL_NCCL_LIBRARY'] = built('libcoll-double-nccl.so');
process.env['COLL_NVML_LIBRARY'] = built('libcoll-double-nvml.so');
process.env['COLL_DOUBLE_DEVICES'] ??= '4';

export const fourGpus: readonly string[] = ['gpu:0', 'gpu:1', 'gpu:2', 'gpu:3'];
