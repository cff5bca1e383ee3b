import { type DeviceMemory, type DType, type Tensor, type TypedArray, ValueError } from '@coll/core';

/** A tensor whose elements are in the memory of a GPU. */
export class GpuTensor implements Tensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly device: string;
  readonly memory: DeviceMemory;

  constructor(memory: DeviceMemory, dtype: DType, shape: readonly number[], device: string) {
    this.memory = memory;
    this.dtype = dtype;
    this.shape = shape;
    this.device = device;
  }

  /** @throws ValueError always, because JavaScript cannot read GPU memory */
  get data(): TypedArray {
    const advice = 'await bufferOf(tensor).read() of @coll/nccl copies them to the host';
    throw new ValueError(
      'ERR_COLL_DEVICE',
      `the elements of this tensor are in the memory of ${this.device}: ${advice}`,
    );
  }
}
