import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createRegistry, type Mirrored, PerReplica, ReduceOp, type Tensor, tensor } from '@coll/core';
import { direct } from '@coll/direct';
import { counts, flightRecorder, gpus, NcclAllReduce, NcclCommunicator, nccl, probe } from '@coll/nccl';
import { describe, expect, it } from 'vitest';

// Whatever this machine has: here there is no driver.
process.env['COLL_CUDA_LIBRARY'] = '/nowhere/libcuda.so.1';

const valueOn = (...devices: readonly string[]) =>
  new PerReplica(devices.map((device, rank) => tensor(Float32Array.of(rank + 1), { device })));

describe('@coll/nccl without a GPU', () => {
  it('can be imported and registered without output', () => {
    const program = "import '@coll/nccl/register'; import { probe } from '@coll/nccl'; console.log(probe().available)";
    const environment = { ...process.env, NODE_OPTIONS: '' };
    const node = ['--input-type=module', '--eval', program];
    const options = { cwd: fileURLToPath(new URL('..', import.meta.url)), env: environment, encoding: 'utf8' } as const;
    expect(execFileSync(process.execPath, node, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })).toBe('false\n');
  });

  it('reports in one sentence why it is not available', () => {
    const { available, reason, devices, isDouble } = probe();
    expect({ available, devices, isDouble }).toEqual({ available: false, devices: [], isDouble: false });
    expect(reason).toMatch(/^[^\n]{20,400}$/);
  });

  it("throws if it is requested by name, and lets 'auto' choose the next plug-in", async () => {
    const registry = createRegistry();
    registry.register(nccl);
    registry.register(direct);
    const situation = { devices: ['gpu:0', 'gpu:1'] };
    await expect(registry.resolve('nccl', situation)).rejects.toMatchObject({
      code: 'ERR_COLL_REFUSED',
      message: `plug-in "nccl" cannot be used here: ${probe().reason}`,
    });
    const { chosen, candidates } = await registry.explain('auto', situation);
    expect(chosen).toBe('direct');
    expect(candidates[0]).toMatchObject({ name: 'nccl', refused: probe().reason });
  });

  it.each([-1, 0.5, Number.NaN, '1'])('refuses numPacks %o', (numPacks) => {
    expect(() => new NcclAllReduce({ numPacks: numPacks as number })).toThrow(
      expect.objectContaining({ name: 'ValueError', message: expect.stringMatching(/^NcclAllReduce: numPacks/) }),
    );
  });

  it('combines CPU values by reduction to one device, and logs it', async () => {
    await using ops = new NcclAllReduce({ numPacks: 0 });
    const value = valueOn('cpu:0', 'cpu:1');
    const sum = (await ops.reduce(ReduceOp.SUM, value, value)) as Mirrored<Tensor>;
    expect(sum.values.map(({ data, device }) => [device, ...data])).toEqual([
      ['cpu:0', 3],
      ['cpu:1', 3],
    ]);
    expect(ops.explain().notes).toEqual(['"cpu:0" is not a GPU; reduction-to-one is used instead']);
  });

  it('reports what is missing when a value is on a GPU, or when a GPU is requested', async () => {
    await using ops = new NcclAllReduce();
    const value = valueOn('gpu:0', 'gpu:1');
    const refused = { code: 'ERR_COLL_REFUSED', message: `nccl cannot be used here: ${probe().reason}` };
    await expect(ops.reduce(ReduceOp.SUM, value, value)).rejects.toMatchObject(refused);
    await expect(NcclCommunicator.open(['gpu:0'])).rejects.toMatchObject(refused);
    expect(() => gpus()).toThrow(refused.message);
    expect(() => counts()).toThrow(refused.message);
    expect(flightRecorder()).toEqual([]);
  });
});
