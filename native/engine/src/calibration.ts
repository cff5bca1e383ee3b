import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, readSync, renameSync, writeFileSync } from 'node:fs';
import { cpus, homedir } from 'node:os';
import path from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { log } from '@coll/core/internal';
import { availableCores } from './machine/cores.js';
import type { NativeBinding } from './native-binding.js';
import {
  listOf,
  parseThresholds,
  type ThresholdList,
  type Thresholds,
  thresholdsOf,
  usualThresholds,
} from './thresholds.js';

/** The thresholds in use, and their source. */
export interface Calibration {
  readonly thresholds: Thresholds;
  /**
   * `option`: set by `configureNative`. `COLL_THRESHOLDS`: set by the variable. `measured`: the
   * usual ones, but `smallBytes` by a calibration of this machine, now or earlier. `usual`: those of
   * machines that were not measured.
   */
  readonly source: 'option' | 'COLL_THRESHOLDS' | 'measured' | 'usual';
  /** The file with the results of the calibration, or why the machine was not measured. */
  readonly detail: string;
}

/** What a calibration depends on. */
export interface CalibrationOptions {
  /** Measures the machine; undefined if other programs have taken its cores. */
  readonly measure: () => ThresholdList | undefined;
  readonly cores?: number;
  readonly processor?: string;
  readonly mayMeasure?: boolean;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

// Increase it when a calibration measures in another way.
const version = 2;

let configured: Thresholds | undefined;
let known: Calibration | undefined;

/** Sets the thresholds for this thread, whatever `COLL_THRESHOLDS` states; undefined restores the default. */
export function tellThresholds(thresholds: Thresholds | undefined): void {
  configured = thresholds;
}

/**
 * The thresholds of this process. An uncached machine is measured, which takes a few
 * milliseconds, at most about 30, and happens in the main thread only.
 * @throws ValueError for a value of `COLL_THRESHOLDS` or `COLL_CORES` that is not valid
 */
export function calibration(binding: Pick<NativeBinding, 'calibrate'>): Calibration {
  const own = ownThresholds();
  if (own) return own;
  known ??= findCalibration({ measure: () => binding.calibrate() });
  return known;
}

/**
 * The thresholds that were set for this process; undefined if none were.
 * @throws ValueError for a value of `COLL_THRESHOLDS` that is not valid
 */
export function ownThresholds(environment: CalibrationOptions['environment'] = process.env): Calibration | undefined {
  if (configured) return { thresholds: configured, source: 'option', detail: 'set by configureNative' };
  const variable = environment['COLL_THRESHOLDS'];
  if (!variable) return undefined;
  return { thresholds: parseThresholds(variable), source: 'COLL_THRESHOLDS', detail: 'set by COLL_THRESHOLDS' };
}

/** Finds the thresholds of a machine: those in the user's cache folder, else by measuring. */
export function findCalibration({
  measure,
  cores = availableCores(),
  processor = processorModel(),
  mayMeasure = isMainThread,
  environment = process.env,
}: CalibrationOptions): Calibration {
  if (cores < 2) return usual('a calibration needs two cores');
  const folder = cacheFolder(environment);
  const file = folder === undefined ? undefined : path.join(folder, fileName(processor, cores));
  const cached = file === undefined ? undefined : readCached(file, { processor, cores });
  if (cached) return { thresholds: cached, source: 'measured', detail: `cached in ${file}` };
  if (!mayMeasure) return usual('only the main thread measures');
  const thresholds = thresholdsOf(measure());
  if (!thresholds) {
    log('info', 'native engine: the machine is too busy to calibrate the thresholds; using the usual ones');
    return usual('other programs used the cores');
  }
  const kept = file === undefined ? 'no cache folder' : keep(file, { version, processor, cores, thresholds });
  log('info', `native engine: calibrated for ${processor}, ${cores} cores: ${listOf(thresholds).join(', ')} (${kept})`);
  return { thresholds, source: 'measured', detail: kept };
}

/** Describes thresholds in one line, for `explain()`. */
export function describeCalibration({ thresholds, source, detail }: Calibration): string {
  const { smallBytes, blockBytes, streamedBytes, helpedBytes, wakingBytes } = thresholds;
  const sizes = [
    `small up to ${sizeOf(smallBytes)}`,
    `blocks of ${sizeOf(blockBytes)}`,
    `streaming from ${sizeOf(streamedBytes)}`,
    `helpers from ${sizeOf(helpedBytes)}, woken for ${sizeOf(wakingBytes)}`,
  ];
  const isConfigured = source === 'option' || source === 'COLL_THRESHOLDS';
  return `${sizes.join(', ')} (${isConfigured ? detail : `${source}: ${detail}`})`;
}

/** The folder of this user's cached calibrations; undefined if there is none. */
export function cacheFolder(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  // The specification of these folders ignores relative paths.
  const given = [environment['XDG_CACHE_HOME'], environment['LOCALAPPDATA']].find(
    (folder) => folder && path.isAbsolute(folder),
  );
  if (given) return path.join(given, 'coll');
  const home = environment['HOME'] || homeOfUser();
  if (!home || !path.isAbsolute(home)) return undefined;
  return path.join(home, process.platform === 'darwin' ? 'Library/Caches' : '.cache', 'coll');
}

function usual(detail: string): Calibration {
  return { thresholds: usualThresholds, source: 'usual', detail };
}

function homeOfUser(): string {
  try {
    return homedir();
  } catch {
    return '';
  }
}

/** The model of the processor. Reads a part of `/proc/cpuinfo`, because all of it takes milliseconds with many cores. */
function processorModel(): string {
  try {
    const bytes = Buffer.alloc(4096);
    const file = openSync('/proc/cpuinfo', 'r');
    const length = readSync(file, bytes);
    closeSync(file);
    const model = /^model name\s*:\s*(.+)$/m.exec(bytes.toString('utf8', 0, length))?.[1];
    if (model) return model.trim();
  } catch {
    // Other systems have no such file.
  }
  return cpus()[0]?.model.trim() || `unknown ${process.arch}`;
}

function fileName(processor: string, cores: number): string {
  const model = processor.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, 100);
  return `thresholds-${model}-${cores}.json`;
}

interface Cached {
  readonly version: number;
  readonly processor: string;
  readonly cores: number;
  readonly thresholds: Thresholds;
}

function readCached(file: string, { processor, cores }: Pick<Cached, 'processor' | 'cores'>): Thresholds | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  const cached = parsed(text);
  // An older version of the engine has measured in another way, which is no damage.
  if (typeof cached?.version === 'number' && cached.version !== version) return undefined;
  const thresholds = thresholdsOf(Object.values(listed(cached?.thresholds)));
  if (thresholds && cached?.processor === processor && cached.cores === cores) return thresholds;
  log('warn', `native engine: ${file} is damaged or of another machine; ignoring it`);
  return undefined;
}

function parsed(text: string): Partial<Cached> | undefined {
  try {
    return Object(JSON.parse(text)) as Partial<Cached>;
  } catch {
    return undefined;
  }
}

function listed(thresholds: unknown): ThresholdList {
  return listOf(Object(thresholds) as Thresholds);
}

/** Writes a file, complete or not at all. Returns where the result is, or why it was not kept. */
function keep(file: string, cached: Cached): string {
  const temporary = `${file}.${randomUUID()}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(temporary, `${JSON.stringify(cached, undefined, 2)}\n`, { flag: 'wx' });
    renameSync(temporary, file);
    return `cached in ${file}`;
  } catch (error) {
    return `not kept: ${(error as Error).message}`;
  }
}

function sizeOf(bytes: number): string {
  if (bytes % 1024 ** 2 === 0 && bytes > 0) return `${bytes / 1024 ** 2} MiB`;
  return bytes % 1024 === 0 && bytes > 0 ? `${bytes / 1024} KiB` : `${bytes} bytes`;
}
