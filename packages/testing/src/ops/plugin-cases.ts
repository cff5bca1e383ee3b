import assert from 'node:assert/strict';
import { CrossDeviceOps, createRegistry, type Explanation, type Plugin, ReduceOp, RuntimeError } from '@coll/core';
import { pluginApiVersion } from '@coll/core/plugin';
import { ThreadClient } from '../thread-client.js';
import { assertEverywhere } from './assert-value.js';
import { combinedElements, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';

/** Tests of the ops object, from its creation until it is closed. */
export const objectCases: OpsCases = {
  'describes itself': saysWhatItIs,
  'explains deviations from the request': explainsFallbacks,
  'supports concurrent calls': servesSideBySide,
  'rejects when its signal is aborted, unless it has nothing to wait for': obeysSignal,
  'can be closed twice, and does not hang afterwards': closesTwice,
};

/** Tests of the plug-in that creates the ops. */
export const pluginCases: OpsCases = {
  'has the shape of a plug-in': hasShape,
  'is loaded from its module by other threads': isLoadedElsewhere,
  'accepts the situations that it supports': acceptsSituations,
  'is created by a registry, by name': isCreatedByName,
};

const { SUM } = ReduceOp;

function pluginOf({ plugin }: OpsSubject): Plugin<never> {
  assert.ok(plugin, 'only plug-ins have these cases');
  return plugin;
}

async function hasShape(subject: OpsSubject): Promise<void> {
  const plugin = pluginOf(subject);
  assert.match(plugin.name, /^[a-z][a-z0-9-]*$/, 'the name must consist of lower-case words joined by hyphens');
  assert.notEqual(plugin.name, 'auto', "the name must not be 'auto'");
  assert.equal(plugin.apiVersion, pluginApiVersion, 'the plug-in must have the current API version');
  assert.equal(typeof plugin.priority, 'number', 'the priority must be a number');
  assert.ok(URL.canParse(plugin.module), 'the module must be a URL, such as import.meta.url');
  assert.equal(typeof plugin.create, 'function', 'create must be a function');
}

async function isLoadedElsewhere(subject: OpsSubject): Promise<void> {
  const { name, module } = pluginOf(subject);
  const thread = new ThreadClient(module);
  try {
    const exported = await thread.request<string[]>({ type: 'inspect', module, plugin: name });
    assert.ok(exported.length > 0, `${module}, loaded into a thread, exports no plug-in called ${name}`);
  } finally {
    await thread.terminate();
  }
}

async function acceptsSituations(subject: OpsSubject): Promise<void> {
  const plugin = pluginOf(subject);
  const registry = createRegistry();
  registry.register(plugin);
  registry.register(plugin);
  for (const count of subject.replicas) {
    const devices = subject.devices(count);
    const { chosen, candidates } = await registry.explain('auto', { devices, dtypes: ['float32'], ops: [SUM] });
    assert.equal(chosen, plugin.name, `it refuses ${devices}: ${candidates[0]?.refused}`);
  }
}

async function isCreatedByName(subject: OpsSubject): Promise<void> {
  const plugin = pluginOf(subject);
  const registry = createRegistry();
  registry.register(plugin);
  await using ops = await registry.create(plugin.name);
  assert.ok(ops instanceof CrossDeviceOps, 'create must return CrossDeviceOps');
  assert.equal(ops.name, plugin.name, 'the ops must have the name of their plug-in');
}

async function saysWhatItIs(subject: OpsSubject): Promise<void> {
  await using ops = await subject.create();
  const { name, engine, notes } = ops.explain();
  assert.ok(ops instanceof CrossDeviceOps, 'create must return CrossDeviceOps');
  assert.ok(name !== '' && name === ops.name, 'explain() must return the name of the ops');
  assert.ok(typeof engine === 'string' && engine !== '', 'explain() must return the engine');
  assert.deepEqual(notes, [], 'there must be no notes before the first call');
}

async function explainsFallbacks(subject: OpsSubject): Promise<void> {
  await using ops = await subject.create();
  const value = valueOn(subject.devices(2));
  const explained: Explanation[] = [];
  for (let call = 0; call < 3; call++) {
    await ops.reduce(SUM, value, subject.device(2));
    explained.push(ops.explain());
  }
  const { notes } = explained.at(-1) as Explanation;
  assert.equal(new Set(notes).size, notes.length, 'each note must occur once');
  assert.deepEqual(notes, explained[0]?.notes, 'the same call must not add notes');
  assert.ok(
    notes.every((note) => typeof note === 'string' && note !== ''),
    'notes must be non-empty texts',
  );
}

async function servesSideBySide(subject: OpsSubject): Promise<void> {
  await using ops = await subject.create();
  const devices = subject.devices(subject.most);
  const values = Array.from({ length: 12 }, (_, seed) => valueOn(devices, { seed, shape: [seed + 1] }));
  const results = await Promise.all(values.map((value) => ops.reduce(SUM, value, value)));
  values.forEach((value, index) => {
    const elements = combinedElements(SUM, value.values);
    assertEverywhere(`call ${index}`, results[index], devices, { dtype: 'float32', shape: [index + 1], elements });
  });
}

async function obeysSignal(subject: OpsSubject): Promise<void> {
  await using ops = await subject.create();
  const value = valueOn(subject.devices(2));
  const signal = AbortSignal.abort(new Error('enough'));
  const outcome = await ops.reduce(SUM, value, value, { signal }).catch((error: unknown) => error);
  if (outcome instanceof Error) {
    assert.equal((outcome as { code?: unknown }).code, 'ERR_COLL_ABORTED', `an aborted signal gives ${outcome}`);
    return;
  }
  const elements = combinedElements(SUM, value.values);
  assertEverywhere('a sum that was aborted too late', outcome, value.devices, {
    dtype: 'float32',
    shape: [2, 3],
    elements,
  });
}

async function closesTwice(subject: OpsSubject): Promise<void> {
  const ops = await subject.create();
  const value = valueOn(subject.devices(2));
  await ops.reduce(SUM, value, value);
  await ops.close();
  await ops.close();
  await ops[Symbol.asyncDispose]();
  // Ops without resources may still work after close; others must report that they are closed.
  const outcome = await ops.reduce(SUM, value, value).catch((error: unknown) => error);
  if (!(outcome instanceof Error)) return;
  assert.ok(outcome instanceof RuntimeError && outcome.code === 'ERR_COLL_CLOSED', `after close: ${outcome}`);
}
