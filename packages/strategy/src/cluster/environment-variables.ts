import { quote, ValueError } from '@coll/core';
import type { Environment } from './environment.js';

/** Where a process stands in a group, and among those of its host. */
export interface GroupPlace {
  readonly rank: number;
  readonly size: number | undefined;
  readonly localRank: number | undefined;
  readonly localSize: number | undefined;
}

/** Variables that a launcher sets, read with care. An empty one is as good as none. */
export class Variables {
  readonly environment: Environment;
  readonly #launcher: string;

  constructor(environment: Environment, launcher: string) {
    this.environment = environment;
    this.#launcher = launcher;
  }

  has(name: string): boolean {
    return this.text(name) !== undefined;
  }

  text(name: string): string | undefined {
    return this.environment[name] || undefined;
  }

  number(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw this.#wrong(`${name} is a whole number from 0 on, not ${quote(text)}`);
  }

  require(name: string): number {
    const number = this.number(name);
    if (number !== undefined) return number;
    throw this.#wrong(`the variable ${name} is not set`);
  }

  address(host: string, port: string | undefined): string | undefined {
    const name = this.text(host);
    if (name === undefined || port === undefined) return name;
    // The colons of IPv6 are none before a port.
    return name.includes(':') && !name.startsWith('[') ? `[${name}]:${port}` : `${name}:${port}`;
  }

  group(rank: string, size: string, localRank: string, localSize: string | undefined): GroupPlace {
    return {
      rank: this.require(rank),
      size: this.number(size),
      localRank: this.number(localRank),
      localSize: localSize === undefined ? undefined : this.number(localSize),
    };
  }

  /** One process a host. */
  single(rank: string, size: string | undefined): GroupPlace {
    return {
      rank: this.require(rank),
      size: size === undefined ? undefined : this.number(size),
      localRank: 0,
      localSize: 1,
    };
  }
  /** Of several launchers that could be meant, it tells which one is. */
  #wrong(problem: string): ValueError {
    return new ValueError('ERR_COLL_CLUSTER', `the process seems to be started by ${this.#launcher}, but ${problem}`);
  }
}
