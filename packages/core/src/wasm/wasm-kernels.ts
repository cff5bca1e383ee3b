import { accumulatorOf, collectiveOps } from '../collectives/collective.js';
import type { Fold, FoldMaker, FoldMemory, FoldRange, FoldRequest, MakeKernels } from '../kernels/fold.js';
import { requireWebAssembly, type WasmMemory } from '../runtime/web-assembly.js';
import { byteSize, dtypes, isHalf, quotientOf } from '../values/dtype.js';
import { kernelBytes } from './kernel-bytes.js';

/** The exports of the compiled kernels; `tools/wasm/assembly/index.ts` documents them. */
interface KernelExports {
  combine(desk: number, dtype: number, op: number, n: number, m: number, count: number, divisor: number): void;
  finish(desk: number, dtype: number, m: number, count: number, divisor: number): void;
  widen(desk: number, dtype: number, count: number): void;
  copy(desk: number, m: number, bytes: number): void;
}

// Elements per register: few enough for all registers to fit into the L2 cache, and enough to make
// the cost of calls between passes small.
const blockLength = 1024;
const registerBytes = blockLength * 8;

// Kernels read as many output addresses, even if a call has fewer outputs.
const leastOutputs = 4;

let compiled: object | undefined;

/**
 * Arithmetic in WebAssembly SIMD on shared memory. The returned function throws a CollError, or the
 * platform's error, if the platform cannot compile the kernels.
 */
export function wasmKernels(memory: WasmMemory): MakeKernels {
  return (places) => {
    const platform = requireWebAssembly();
    compiled ??= new platform.Module(kernelBytes());
    const { exports } = new platform.Instance(compiled, { env: { memory } });
    const desk = new Desk(memory, places);
    return { foldMaker: (request) => new RequestFolds(exports as KernelExports, desk, request).foldMaker };
  };
}

/**
 * Memory for the addresses and registers of kernels. All kernels of a thread share it, because they
 * run one after the other.
 */
class Desk {
  readonly #memory: WasmMemory;
  readonly #places: FoldMemory;
  #words: Int32Array = new Int32Array();
  #registers: readonly number[] = [];
  at = 0;

  constructor(memory: WasmMemory, places: FoldMemory) {
    this.#memory = memory;
    this.#places = places;
  }

  /** Reserves memory for at least `addresses` addresses. */
  require(addresses: number): void {
    if (addresses <= this.#words.length) return;
    this.at = this.#places.reserve(addresses * 4);
    this.#words = new Int32Array(this.#memory.buffer, this.at, addresses);
  }

  registers(count: number): readonly number[] {
    while (this.#registers.length < count) this.#registers = [...this.#registers, this.#places.reserve(registerBytes)];
    return this.#registers;
  }

  put(index: number, address: number): void {
    this.#words[index] = address;
  }
}

/** Makes the folds (functions that combine ranges of elements) for one kind of request. */
class RequestFolds {
  readonly #kernels: KernelExports;
  readonly #desk: Desk;
  readonly #request: FoldRequest;
  readonly #dtype: number;
  readonly #wide: number;
  /** Whether registers hold another dtype than the inputs. */
  readonly #isConverted: boolean;
  readonly #op: number;
  readonly #inputBytes: number;
  readonly #outputBytes: number;

  constructor(kernels: KernelExports, desk: Desk, request: FoldRequest) {
    const { dtype, op } = request;
    this.#kernels = kernels;
    this.#desk = desk;
    this.#request = request;
    this.#dtype = dtypes.indexOf(dtype);
    const wide = op === undefined ? dtype : accumulatorOf(dtype, op);
    this.#wide = dtypes.indexOf(wide);
    this.#isConverted = wide !== dtype;
    this.#op = collectiveOps.indexOf(op ?? 'sum');
    this.#inputBytes = byteSize(dtype);
    this.#outputBytes = byteSize(op === 'mean' ? quotientOf(dtype) : dtype);
  }

  readonly foldMaker: FoldMaker = (span) => {
    this.#desk.require(span.inputs.length + Math.max(leastOutputs, span.outputs.length));
    if (span.steps) return this.#stepFold(span);
    return this.#request.op === undefined ? this.#copyFold(span) : this.#directFold(span);
  };

  #copyFold({ inputs: [from = 0], outputs }: FoldRange): Fold {
    const bytes = this.#inputBytes;
    return (begin, count) => {
      this.#desk.put(0, from + begin * bytes);
      this.#put(1, outputs, begin * bytes);
      this.#kernels.copy(this.#desk.at, outputs.length, count * bytes);
    };
  }

  #directFold({ inputs, outputs }: FoldRange): Fold {
    const { op, divisor } = this.#request;
    const by = op === 'mean' ? divisor : 1;
    const [n, m, inputBytes, outputBytes] = [inputs.length, outputs.length, this.#inputBytes, this.#outputBytes];
    return (begin, count) => {
      this.#put(0, inputs, begin * inputBytes);
      this.#put(n, outputs, begin * outputBytes);
      this.#kernels.combine(this.#desk.at, this.#dtype, this.#op, n, m, count, by);
    };
  }

  #stepFold({ inputs, outputs, steps = [], results = [] }: FoldRange): Fold {
    const registers = this.#desk.registers(inputs.length);
    const register = (rank: number) => registers[rank] as number;
    return inBlocks((begin, count) => {
      inputs.forEach((at, rank) => {
        this.#load(register(rank), at + begin * this.#inputBytes, count);
      });
      for (const { to, operands } of steps) {
        this.#put(0, operands.map(register), 0);
        this.#desk.put(operands.length, register(to));
        this.#kernels.combine(this.#desk.at, this.#wide, this.#op, operands.length, 1, count, 1);
      }
      outputs.forEach((at, position) => {
        this.#store(at + begin * this.#outputBytes, register(results[position] as number), count);
      });
    });
  }

  #load(register: number, from: number, count: number): void {
    this.#desk.put(0, from);
    this.#desk.put(1, register);
    if (this.#isConverted) this.#kernels.widen(this.#desk.at, this.#dtype, count);
    else this.#kernels.copy(this.#desk.at, 1, count * this.#inputBytes);
  }

  #store(into: number, register: number, count: number): void {
    const { dtype, op, divisor } = this.#request;
    this.#desk.put(0, register);
    this.#desk.put(1, into);
    if (op === 'mean' || isHalf(dtype))
      this.#kernels.finish(this.#desk.at, this.#dtype, 1, count, op === 'mean' ? divisor : 1);
    else this.#kernels.copy(this.#desk.at, 1, count * this.#outputBytes);
  }

  #put(index: number, places: readonly number[], shift: number): void {
    for (let place = 0; place < places.length; place++)
      this.#desk.put(index + place, (places[place] as number) + shift);
  }
}

function inBlocks(fold: Fold): Fold {
  return (begin, count) => {
    const end = begin + count;
    for (let block = begin; block < end; block += blockLength) fold(block, Math.min(blockLength, end - block));
  };
}
