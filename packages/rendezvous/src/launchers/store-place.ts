import type { Environment } from './environment.js';
import { Variables } from './environment-variables.js';
import { launchers } from './launchers.js';
import { type Membership, membersAreLocal } from './membership.js';

/** Where rank 0 of a group listens for the others. */
export interface StorePlace {
  /** Undefined if the launcher does not say where rank 0 runs. */
  readonly host: string | undefined;
  readonly port: number;
}

/** The port of rank 0's store if the launcher reports neither a port nor a job. */
const defaultPort = 29_222;

/**
 * Where rank 0 listens, derived from the same variables on all members: at the announced port, at
 * another one if a server of the launcher has it, or at one that depends on the job.
 */
export function storePlace(membership: Membership, environment: Environment): StorePlace {
  const variables = new Variables(environment);
  const { coordinator, launcher } = membership;
  const { host, port } = coordinator === undefined ? {} : hostAndPort(coordinator);
  const { jobIds = [], isPortHeld } = launchers.find(({ name }) => name === launcher) ?? {};
  const job = jobIds.map((name) => variables.text(name)).find((id) => id !== undefined);
  const announced = port !== undefined && isPortHeld?.(variables) ? besides(port) : port;
  return {
    host: membersAreLocal(membership) ? '127.0.0.1' : host,
    port: announced ?? (job === undefined ? defaultPort : portOf(job)),
  };
}

/** Splits `host:port`, `[::1]:port` or a host alone, which may be an IPv6 address. */
function hostAndPort(address: string): { host?: string; port?: number } {
  const { six, name, port } =
    /^(?:\[(?<six>[^\]]+)\]|(?<name>[^:]+))(?::(?<port>\d{1,5}))?$/.exec(address)?.groups ?? {};
  const host = six ?? name ?? address;
  return port === undefined ? { host } : { host, port: Number(port) };
}

/** Another port than a launcher's, below those that systems hand out by themselves. */
function besides(port: number): number {
  return 10_240 + (port % 20_480);
}

/** A port above those that systems hand out by themselves, which hardly any other job of the host has. */
function portOf(job: string): number {
  let hash = 0;
  for (const character of job) hash = (31 * hash + (character.codePointAt(0) as number)) % 2 ** 31;
  return 61_440 + (hash % 4096);
}
