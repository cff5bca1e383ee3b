import { ValueError } from '@coll/core';
import type { Environment } from './environment.js';
import { wholeNumber, wrongValue } from './wrong-value.js';

/** The position of a process in its group and on its host. */
export interface RankInfo {
  readonly rank: number;
  readonly size: number | undefined;
  readonly localRank: number | undefined;
  readonly localSize: number | undefined;
}

/** Validated access to a launcher's variables. An empty variable counts as undefined. */
export class Variables {
  readonly environment: Environment;

  constructor(environment: Environment) {
    if (typeof environment !== 'object' || environment === null)
      throw wrongValue('the environment must be an object such as process.env', environment);
    this.environment = environment;
  }

  has(name: string): boolean {
    return this.text(name) !== undefined;
  }

  text(name: string): string | undefined {
    const text: unknown = this.environment[name];
    if (text === undefined || text === '') return undefined;
    if (typeof text !== 'string') throw wrongValue(`${name} must be a string`, text);
    return text;
  }

  number(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : wholeNumber(name, text);
  }

  require(name: string): number {
    return wholeNumber(name, this.requireText(name));
  }

  requireText(name: string): string {
    const text = this.text(name);
    if (text !== undefined) return text;
    throw new ValueError('ERR_COLL_CLUSTER', `the environment variable ${name} is not set`);
  }

  address(host: string, port: string | undefined): string | undefined {
    const name = this.text(host);
    if (name === undefined || port === undefined) return name;
    // A host with colons is an IPv6 address, which needs brackets before the port.
    return name.includes(':') && !name.startsWith('[') ? `[${name}]:${port}` : `${name}:${port}`;
  }

  group(rank: string, size: string, localRank: string, localSize: string | undefined): RankInfo {
    return {
      rank: this.require(rank),
      size: this.number(size),
      localRank: this.number(localRank),
      localSize: localSize === undefined ? undefined : this.number(localSize),
    };
  }

  /**
   * The position of a process in its group, if no other process of the group runs on its host.
   * `rank` and `size` are the names of the environment variables that contain these numbers.
   */
  single(rank: string, size: string | undefined): RankInfo {
    return {
      rank: this.require(rank),
      size: size === undefined ? undefined : this.number(size),
      localRank: 0,
      localSize: 1,
    };
  }
}
