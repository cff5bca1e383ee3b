import { ValueError, WrongTypeError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { type ClusterDescription, ClusterSpec } from './cluster-spec.js';
import { type Environment, processEnvironment } from './environment.js';
import { wrongValue } from './wrong-value.js';

/** The content of `TF_CONFIG`, whose fields have not been validated. */
export interface TFConfig {
  readonly cluster?: ClusterDescription;
  readonly task?: { readonly type?: unknown; readonly index?: unknown };
  readonly rpc_layer?: unknown;
  readonly session_master?: unknown;
  readonly environment?: unknown;
}

/**
 * The content of `TF_CONFIG`; an empty object if the variable is not set.
 * @throws ValueError unless the variable is a JSON object
 */
export function tfConfigFrom(variables: Environment = processEnvironment()): TFConfig {
  const text = variables['TF_CONFIG'];
  if (text === undefined || text === '') return {};
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch (cause) {
    const form = '{"cluster": {"worker": ["host:port"]}, "task": {"type": "worker", "index": 0}}';
    throw new ValueError('ERR_COLL_CLUSTER', `TF_CONFIG must be JSON such as ${form}, got ${quote(text)}`, { cause });
  }
  if (typeof config === 'object' && config !== null && !Array.isArray(config)) return config;
  throw wrongValue('TF_CONFIG must be an object with the fields cluster and task', config);
}

/** @throws ValueError for an invalid cluster */
export function clusterOf({ cluster }: TFConfig): ClusterSpec {
  try {
    return new ClusterSpec(withoutSchemes(cluster ?? {}) as ClusterDescription);
  } catch (cause) {
    if (!(cause instanceof WrongTypeError)) throw cause;
    throw new ValueError('ERR_COLL_CLUSTER', `TF_CONFIG: ${cause.message}`, { cause });
  }
}

/**
 * Drops the schemes `grpc://` and `tcp://` of addresses, which clusters for TensorFlow may have.
 * @throws ValueError that names the address, for any other scheme
 */
export function withoutScheme(address: string): string {
  const { scheme, rest } = /^(?<scheme>[a-z][a-z0-9+.-]*):\/\/(?<rest>.*)$/is.exec(address)?.groups ?? {};
  if (scheme === undefined || rest === undefined) return address;
  if (['grpc', 'tcp'].includes(scheme.toLowerCase())) return rest.replace(/\/$/, '');
  const message = `the address ${quote(address)} of a task has the scheme ${quote(scheme)}: write host:port`;
  throw new ValueError('ERR_COLL_CLUSTER', message);
}

function withoutSchemes(cluster: unknown): unknown {
  if (typeof cluster === 'string') return withoutScheme(cluster);
  if (Array.isArray(cluster)) return cluster.map(withoutSchemes);
  if (typeof cluster !== 'object' || cluster === null || cluster instanceof ClusterSpec) return cluster;
  return Object.fromEntries(Object.entries(cluster).map(([name, value]) => [name, withoutSchemes(value)]));
}

/** @throws ValueError unless the type, if there is one, is a string or a number */
export function taskTypeOf({ task }: TFConfig): string | undefined {
  const type = task?.type ?? undefined;
  if (type === undefined || typeof type === 'string') return type;
  if (typeof type === 'number') return String(type);
  throw wrongValue('TF_CONFIG: task.type must be a string', type);
}

/** @throws ValueError unless the index, if there is one, is a whole number, 0 or more */
export function taskIdOf({ task }: TFConfig): number | undefined {
  const index = task?.index;
  if (index === undefined || index === null) return undefined;
  const number = (typeof index === 'string' && /^\s*\d{1,9}\s*$/.test(index) ? Number(index) : index) as number;
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw wrongValue('TF_CONFIG: task.index must be a whole number, 0 or more', index);
}
