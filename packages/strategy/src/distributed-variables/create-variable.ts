import { asTensor, type Tensor } from '@coll/core';
import type { GroupReplicaContext } from '../replicas/group-replica-context.js';
import { ofVariable } from '../replicas/replica-error.js';
import { nextVariable, sharesVariables } from '../replicas/replica-variables.js';
import { currentFrame, mixing } from '../scope/contexts.js';
import { refused } from '../scope/refused-calls.js';
import type { Strategy } from '../scope/strategy.js';
import { LocalVariable } from '../variables/local-variable.js';
import type { Variable } from '../variables/variable.js';
import {
  distributedTraits,
  initialTensor,
  traitsOf,
  type VariableOptions,
  type VariableTraits,
  type VariableValue,
} from '../variables/variable-options.js';
import type { VariableParts } from './distributed-variable.js';
import { MirroredVariable } from './mirrored-variable.js';
import { SyncOnReadVariable } from './sync-on-read-variable.js';

/**
 * A variable on one device, without a strategy.
 * @throws ValueError for an initial value or options of the wrong kind
 */
export function localVariable(initial: VariableValue, options: VariableOptions, device: string): LocalVariable {
  const value = initialTensor(initial, options);
  return new LocalVariable(traitsOf(value, options), value, value.device === '' ? device : value.device);
}

/**
 * A variable of a strategy, with a component on each device. Replicas of one thread share the
 * variable. In a replica with its own thread, the variable has one component, which starts with
 * replica 0's value.
 * @throws ValueError for an initial value or options of the wrong kind; RuntimeError while another
 * strategy is active
 */
export function distributedVariable(strategy: Strategy, initial: VariableValue, options: VariableOptions): Variable {
  const frame = currentFrame();
  if (frame && frame.strategy !== strategy) throw mixing(strategy, 'createVariable', frame.strategy);
  const value = initialTensor(initial, options);
  const traits = distributedTraits(value, options);
  if (frame?.replica && !sharesVariables(frame.replica))
    return inThread(frame.replica as GroupReplicaContext, traits, value);
  const make = () => {
    const { parameterDevices, firstReplica, workers } = strategy.extended;
    const first = ofFirst(() => workers.broadcastSync(value, 0), traits.name);
    const components = parameterDevices.map((device, index) => component(traits, first, device, firstReplica + index));
    return variableIn({ strategy, components }, traits);
  };
  return frame?.replica ? nextVariable(frame.replica, traits, make) : make();
}

/**
 * Counts a variable that this replica or worker has refused to create with `error`. The first of the
 * replicas of one thread creates it, together with all workers. Returns the error.
 */
export function refusedVariable(strategy: Strategy, error: unknown): unknown {
  const replica = currentFrame()?.replica;
  if (replica && sharesVariables(replica)) strategy.extended.workers.refuse(error);
  return refused(strategy, error);
}

function inThread(replica: GroupReplicaContext, traits: VariableTraits, value: Tensor): Variable {
  const id = replica.replicaIdInSyncGroup;
  const ofReplica0 = asTensor(ofFirst(() => replica.combineForVariableSync(undefined, value) as Tensor, traits.name));
  const components = [component(traits, ofReplica0, replica.devices[0] as string, id)];
  return variableIn({ strategy: replica.strategy, components, thread: replica }, traits);
}

/** Runs a broadcast from the first replica or worker; adds the variable's name to errors. */
function ofFirst<Result>(broadcast: () => Result, name: string): Result {
  try {
    return broadcast();
  } catch (error) {
    throw ofVariable(error, name);
  }
}

function component(traits: VariableTraits, value: Tensor, device: string, replica: number): LocalVariable {
  const name = replica === 0 ? traits.name : `${traits.name}/replica_${replica}`;
  return new LocalVariable({ ...traits, name }, value, device);
}

function variableIn(parts: VariableParts, traits: VariableTraits): Variable {
  return traits.synchronization === 'ON_READ'
    ? new SyncOnReadVariable(traits, parts)
    : new MirroredVariable(traits, parts);
}
