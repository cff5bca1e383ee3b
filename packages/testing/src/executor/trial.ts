import assert from 'node:assert/strict';
import { type Collective, type DType, type Tensor, type TypedArray, ValueError } from '@coll/core';
import { hasOneResult } from '@coll/core/internal';
import { nameOf, opOf, outputDType } from '@coll/core/plugin';
import type { Call, CallOptions, Outcome } from '../group.js';
import { contribute, type Flavour } from '../oracle/contributions.js';
import { type Plain, storedOf } from '../oracle/plain-arithmetic.js';
import { MemoryImage } from './memory-image.js';
import { type Placement, placeBuffers } from './placement.js';

/** A collective to run, and the kind of its inputs and the placement of its buffers. */
export interface Trial {
  readonly collective: Collective;
  readonly dtype: DType;
  /** Number of elements per rank (`n` in `Collective`). */
  readonly block: number;
  /** The kind of numbers in the inputs. Default: `rough`. */
  readonly flavour?: Flavour;
  /** How the buffers are placed in memory. Default: 'in own memory'. */
  readonly placement?: Placement;
  readonly options?: CallOptions;
}

/**
 * Returns the expected elements of each rank's output, given the inputs of a trial; undefined for
 * an output that must not change.
 */
export type Expect = (
  trial: Trial,
  inputs: readonly TypedArray[],
) => readonly (readonly Plain[] | undefined)[] | Promise<readonly (readonly Plain[] | undefined)[]>;

// Makes a collective that hangs fail its test, instead of stopping the test runner.
const deadlineSeconds = 120;

/** A trial (a collective to test) with its buffers. */
export class PreparedTrial {
  readonly call: Call;
  readonly #title: string;
  readonly #refusal: string | undefined;
  readonly #image: MemoryImage;

  private constructor(title: string, refusal: string | undefined, call: Call) {
    this.#title = title;
    this.#refusal = refusal;
    this.call = call;
    const named = (kind: string) => (tensor: Tensor, rank: number) => ({ name: `${kind} of rank ${rank}`, tensor });
    this.#image = new MemoryImage([...call.outputs.map(named('output')), ...call.inputs.map(named('input'))]);
  }

  /**
   * Makes and fills the buffers of `size` ranks. If `refusal` is given, the executor must refuse
   * the call without changing any buffer.
   */
  static async prepare(
    trial: Trial,
    size: number,
    refusal: string | undefined,
    expect: Expect,
  ): Promise<PreparedTrial> {
    const { collective, dtype, block, placement = 'in own memory', options } = trial;
    const { inputs, outputs } = placeBuffers({ collective, dtype, size, count: block, placement });
    // Outputs are filled first, because an input may be in the place of an output.
    for (const { data } of outputs) data.fill(storedOf(outputDType(collective, dtype), 7n) as never);
    inputs.forEach((input, rank) => {
      fill(input, trial, placement === 'with one input for all' ? 0 : rank);
    });
    const isAllocated = placement.startsWith('in allocated memory');
    const call = { timeoutSeconds: deadlineSeconds, isAllocated, ...options, collective, inputs, outputs };
    const prepared = new PreparedTrial(`${titleOf(trial)} among ${size} ranks`, refusal, call);
    if (refusal === undefined) {
      const expected = await expect(
        trial,
        inputs.map(({ data }) => data),
      );
      expected.forEach((elements, rank) => {
        if (elements) prepared.#image.expect(outputs[rank] as Tensor, elements);
      });
    }
    return prepared;
  }

  /** Fails unless the outcomes of all members, and the contents of the buffers, are as expected. */
  verify(outcomes: readonly Outcome[]): void {
    outcomes.forEach((outcome, member) => {
      if (this.#refusal !== undefined) assertRefused(`${this.#title} on member ${member}`, this.#refusal, outcome);
      else assert.ok(outcome === undefined, `${this.#title} on member ${member} failed: ${outcome}`);
    });
    const problem = this.#image.problem();
    assert.ok(problem === undefined, `${this.#title}: ${problem}`);
    if (this.#refusal === undefined) this.#assertSameBits();
  }

  #assertSameBits(): void {
    const { collective, outputs } = this.call;
    if (!hasOneResult(collective)) return;
    const [first, ...others] = outputs.map(({ data }) => bytesOf(data)) as [Buffer, ...Buffer[]];
    const odd = others.findIndex((bytes) => !bytes.equals(first)) + 1;
    assert.ok(odd === 0, `${this.#title}: ranks 0 and ${odd} have other bits`);
  }
}

function assertRefused(title: string, refusal: string, outcome: Outcome): void {
  const message = `${title} is refused (${refusal}), so that it must throw a ValueError ERR_COLL_REFUSED, but it`;
  assert.ok(outcome, `${message} returned`);
  assert.ok(outcome instanceof ValueError && outcome.code === 'ERR_COLL_REFUSED', `${message} threw ${outcome}`);
}

function fill({ data, dtype }: Tensor, { collective, flavour = 'rough' }: Trial, rank: number): void {
  contribute(data, { flavour, dtype, op: opOf(collective), rank });
}

function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function titleOf({ collective, dtype, block, flavour = 'rough', placement = 'in own memory', options }: Trial): string {
  const { mode = 'run' } = options ?? {};
  return `${mode} ${nameOf(collective)} of ${block} ${flavour} ${dtype} elements ${placement}`;
}
