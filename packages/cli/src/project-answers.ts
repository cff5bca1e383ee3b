import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '@coll/core/internal';

// The process in which `coll doctor` loads packages of a project.

/** What the packages of a project answer. */
export interface Answers {
  readonly engine: EngineAnswer;
  readonly mpi: PackageAnswer<MpiProbe>;
  readonly nccl: PackageAnswer<NcclProbe>;
}

/** The engine that programs of a project get. */
export interface EngineAnswer {
  /** Whether the project has `@coll/core`; otherwise the engine is that of this command. */
  readonly isOfProject: boolean;
  /** Undefined if there is none. */
  readonly engine?: string | undefined;
  /** Why there is no engine. */
  readonly error?: string | undefined;
  /** Where the native engine was loaded from. */
  readonly place?: string | undefined;
  /** The instruction set of the native engine. */
  readonly simd?: string | undefined;
  /** Why the native engine cannot be used. */
  readonly refused?: string | undefined;
  /** What to do about it. */
  readonly advice?: string | undefined;
}

/** What `probe` of `@coll/mpi` returns. */
export interface MpiProbe {
  readonly available: boolean;
  readonly reason?: string | undefined;
  readonly version?: string | undefined;
  readonly path?: string | undefined;
}

/** What `probe` of `@coll/nccl` returns. */
export interface NcclProbe {
  readonly available: boolean;
  readonly reason?: string | undefined;
  readonly driver?: LibraryVersion | undefined;
  readonly nccl?: LibraryVersion | undefined;
  readonly devices: readonly GpuFacts[];
  /** Whether the libraries are test doubles. */
  readonly isDouble?: boolean;
}

/** A library that was opened. */
export interface LibraryVersion {
  readonly path: string;
  readonly version: string;
}

/** A GPU that the driver reports. */
export interface GpuFacts {
  readonly index: number;
  readonly name: string;
  readonly bytes: number;
}

/** What an optional package reports about its library. */
export interface PackageAnswer<Probe> {
  /** Undefined if the package is not installed. */
  readonly probe?: Probe;
}

process.once('message', ({ subject, folder }: { readonly subject: keyof Answers; readonly folder: string }) => {
  const answers = {
    engine: engineOf,
    mpi: () => probeOf('@coll/mpi', folder),
    nccl: () => probeOf('@coll/nccl', folder),
  };
  const answering: Promise<unknown> = answers[subject](folder);
  void answering.then(
    (answer) => send({ answer }),
    (error: unknown) => send({ failure: messageOf(error) }),
  );
});

function send(reply: object): void {
  // Libraries may have started threads that keep the process alive.
  process.send?.(reply, () => process.exit());
}

async function engineOf(folder: string): Promise<EngineAnswer> {
  const ofProject = (await loaded('@coll/core', folder)) as typeof import('@coll/core') | undefined;
  const isOfProject = ofProject !== undefined;
  const core = ofProject ?? (await import('@coll/core'));
  const native = await nativeOf(folder, isOfProject);
  try {
    const { engine } = core.resolveEngine('auto', native.engines);
    return { isOfProject, engine: engine.name, ...native.facts };
  } catch (error) {
    return { isOfProject, error: messageOf(error), ...native.facts };
  }
}

/** The native engine of the project, or of this command if it has none. */
async function nativeOf(folder: string, isOfProject: boolean) {
  const own = async () => ({ library: await import('@coll/native'), addon: await import('@coll/native/addon') });
  const [library, addon] = [await loaded('@coll/native', folder), await loaded('@coll/native/addon', folder)];
  if (!library && isOfProject) {
    return { engines: [], facts: { refused: '@coll/native is not installed', advice: 'npm install @coll/native' } };
  }
  const found = library && addon ? ({ library, addon } as Awaited<ReturnType<typeof own>>) : await own();
  const { native } = found.library;
  const probe = native.probe();
  if (!probe.available) return { engines: [native], facts: { refused: probe.reason, advice: probe.advice } };
  const { nativeBinding, findBinding } = found.addon;
  // Older releases do not export it.
  const search = findBinding?.() ?? {};
  const place = 'place' in search ? search.place : undefined;
  return { engines: [native], facts: { simd: nativeBinding().simd, place } };
}

async function probeOf<Probe>(name: string, folder: string): Promise<PackageAnswer<Probe>> {
  const library = (await loaded(name, folder)) as { readonly probe: () => Probe } | undefined;
  if (library) return { probe: library.probe() };
  const manifest = resolved(`${name}/package.json`, path.join(folder, 'package.json'));
  if (manifest !== undefined) throw new Error(`${path.dirname(manifest)} has no module`);
  return {};
}

/** A module of a package that the project has, or that its `@coll/strategy` depends on; undefined if there is none. */
async function loaded(name: string, folder: string): Promise<unknown> {
  const project = path.join(folder, 'package.json');
  const strategy = resolved('@coll/strategy', project);
  const file = resolved(name, project) ?? (strategy === undefined ? undefined : resolved(name, strategy));
  return file === undefined ? undefined : import(pathToFileURL(file).href);
}

function resolved(name: string, from: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
