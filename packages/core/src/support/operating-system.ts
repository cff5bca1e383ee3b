/** The parts of `node:os` that this package uses. */
interface OperatingSystem {
  hostname(): string;
  availableParallelism(): number;
}

/** The module `node:os`, which this package does not import; undefined in browsers. */
export function operatingSystem(): OperatingSystem | undefined {
  const { process: host } = globalThis as {
    readonly process?: { getBuiltinModule?(name: 'node:os'): OperatingSystem | undefined };
  };
  return host?.getBuiltinModule?.('node:os');
}
