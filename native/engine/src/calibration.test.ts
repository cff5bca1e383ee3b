import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setLogSink } from '@coll/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Calibration,
  type CalibrationOptions,
  cacheFolder,
  calibration,
  describeCalibration,
  findCalibration,
  ownThresholds,
} from './calibration.js';
import { configureNative } from './configure.js';
import { listOf, parseThresholds, thresholdsOf, usualThresholds } from './thresholds.js';

const sizes = { ...usualThresholds, smallBytes: 512, streamedBytes: 2 ** 24 };
let folder: string;
let lines: string[];
let measured: number;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-cache-'));
  lines = [];
  measured = 0;
  setLogSink((level, message) => lines.push(`${level} ${message}`));
});

afterEach(() => {
  setLogSink();
  configureNative({ thresholds: undefined });
  rmSync(folder, { recursive: true, force: true });
});

const found = (options: Partial<CalibrationOptions> = {}): Calibration =>
  findCalibration({
    measure: () => {
      measured++;
      return listOf(sizes);
    },
    ...{ cores: 2, processor: 'A CPU @ 3 GHz', mayMeasure: true, environment: { XDG_CACHE_HOME: folder }, ...options },
  });
const file = () => path.join(folder, 'coll', 'thresholds-A-CPU-3-GHz-2.json');

describe('a calibration', () => {
  it('is measured once and kept in the cache folder, by processor and number of cores', () => {
    const detail = `cached in ${file()}`;
    expect(found()).toEqual({ thresholds: sizes, source: 'measured', detail });
    expect(found()).toEqual({ thresholds: sizes, source: 'measured', detail });
    expect(measured).toBe(1);
    expect(readdirSync(path.join(folder, 'coll'))).toEqual([path.basename(file())]);
    found({ cores: 4 });
    found({ processor: 'another' });
    expect(measured).toBe(3);
  });

  it.each([
    ['not JSON', () => 'thresh'],
    ['not an object', () => 'null'],
    ['incomplete', (text: string) => text.replace('smallBytes', 'small')],
    ['out of range', (text: string) => text.replace('512', '99999')],
    ['of another processor', (text: string) => text.replace('A CPU', 'B CPU')],
    ['of another number of cores', (text: string) => text.replace('"cores": 2', '"cores": 3')],
  ])('ignores a file that is %s with a warning, and replaces it', (_, damage) => {
    found();
    const whole = readFileSync(file(), 'utf8');
    writeFileSync(file(), damage(whole));
    lines = [];
    expect(found().thresholds).toEqual(sizes);
    expect(measured).toBe(2);
    expect(lines[0]).toBe(`warn native engine: ${file()} is damaged or of another machine; ignoring it`);
    expect(readFileSync(file(), 'utf8')).toBe(whole);
  });

  it('replaces the file of another version without a warning', () => {
    found();
    writeFileSync(file(), readFileSync(file(), 'utf8').replace(/"version": \d+/, '"version": 1'));
    found();
    expect(measured).toBe(2);
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual([]);
  });

  it('is skipped with a log line on a machine that is too busy, and tried again by the next process', () => {
    const detail = 'other programs used the cores';
    expect(found({ measure: () => undefined })).toEqual({ thresholds: usualThresholds, source: 'usual', detail });
    expect(lines).toEqual([
      'info native engine: the machine is too busy to calibrate the thresholds; using the usual ones',
    ]);
    expect(existsSync(file())).toBe(false);
    expect(found().source).toBe('measured');
  });

  it('is not made with one core, nor in a worker thread, which uses what is cached', () => {
    expect(found({ cores: 1 })).toMatchObject({ source: 'usual', detail: 'a calibration needs two cores' });
    expect(found({ mayMeasure: false })).toMatchObject({ source: 'usual', detail: 'only the main thread measures' });
    expect(measured).toBe(0);
    found();
    expect(found({ mayMeasure: false })).toMatchObject({ source: 'measured', thresholds: sizes });
  });

  it('is used although it cannot be kept', () => {
    writeFileSync(path.join(folder, 'coll'), 'not a folder');
    expect(found()).toEqual({ thresholds: sizes, source: 'measured', detail: expect.stringMatching(/^not kept: E/) });
  });
});

describe('thresholds that are configured', () => {
  it('come from COLL_THRESHOLDS, completed with the usual ones', () => {
    expect(ownThresholds({})).toBeUndefined();
    expect(ownThresholds({ COLL_THRESHOLDS: '' })).toBeUndefined();
    expect(ownThresholds({ COLL_THRESHOLDS: 'default' })?.thresholds).toEqual(usualThresholds);
    expect(ownThresholds({ COLL_THRESHOLDS: 'smallBytes=64,blockBytes=65536' })).toEqual({
      ...{ source: 'COLL_THRESHOLDS', detail: 'set by COLL_THRESHOLDS' },
      thresholds: { ...usualThresholds, smallBytes: 64, blockBytes: 65536 },
    });
  });

  it.each([
    ['small', 'COLL_THRESHOLDS must be default, or sizes such as'],
    ['smallBytes=1 KiB', 'COLL_THRESHOLDS must be default, or sizes such as'],
    ['size=5', 'COLL_THRESHOLDS has no size "size"; it has smallBytes, blockBytes,'],
    ['smallBytes=2000', 'COLL_THRESHOLDS: smallBytes must be a whole number from 32 to 1984, got 2000'],
  ])('cannot be %j', (text, message) => {
    expect(() => parseThresholds(text)).toThrow(message);
  });

  it('come from configureNative first, which keeps options that are omitted', () => {
    const refuse = {
      calibrate: () => {
        throw new Error('measured');
      },
    };
    configureNative({ thresholds: { smallBytes: 96 } });
    configureNative({ helperThreads: undefined });
    expect(calibration(refuse)).toMatchObject({ source: 'option', thresholds: { ...usualThresholds, smallBytes: 96 } });
    expect(() => configureNative({ thresholds: { wakingBytes: 0 } })).toThrow('wakingBytes must be a whole number');
    expect(() => configureNative({ thresholds: 5 as never })).toThrow('thresholds must be sizes such as');
  });
});

it('describes thresholds in one line', () => {
  const described = describeCalibration({
    thresholds: { ...sizes, smallBytes: 100 },
    source: 'measured',
    detail: 'now',
  });
  expect(described).toBe(
    'small up to 100 bytes, blocks of 256 KiB, streaming from 16 MiB, helpers from 128 KiB, woken for 4 MiB (measured: now)',
  );
});

it('takes a list of thresholds only if all are valid', () => {
  expect(thresholdsOf(listOf(sizes))).toEqual(sizes);
  for (const wrong of [undefined, {}, [], [...listOf(sizes), 1], listOf(sizes).with(0, 1.5)])
    expect(thresholdsOf(wrong)).toBeUndefined();
});

it('finds the cache folder of the user', () => {
  expect(cacheFolder({ XDG_CACHE_HOME: '/c', HOME: '/h' })).toBe(path.join('/c', 'coll'));
  expect(cacheFolder({ XDG_CACHE_HOME: 'relative', HOME: '/h' })).toMatch(/^\/h\/(\.cache|Library\/Caches)\/coll$/);
  expect(cacheFolder({ HOME: 'relative' })).toBeUndefined();
});
