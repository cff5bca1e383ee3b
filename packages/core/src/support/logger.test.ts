import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type LogSink, log, logDeprecated, logFirst, setLogSink } from './logger.js';

const sink = vi.fn<LogSink>();

afterEach(() => {
  sink.mockClear();
  setLogSink();
});

it('log() sends lines to the configured sink', () => {
  setLogSink(sink);
  log('debug', 'a');
  log('warn', 'b');
  expect(sink.mock.calls).toEqual([
    ['debug', 'a'],
    ['warn', 'b'],
  ]);
});

describe('logFirst', () => {
  it('logs the first messages of a topic, counting each topic separately', () => {
    setLogSink(sink);
    for (const message of ['a', 'b', 'c']) {
      logFirst(2, 'one', 'info', message);
      logFirst(1, 'two', 'info', message);
    }
    expect(sink.mock.calls.map(([, message]) => message)).toEqual(['a', 'a', 'b']);
  });

  it('counts from zero again after another sink is set', () => {
    setLogSink(sink);
    logFirst(1, 'one', 'info', 'a');
    setLogSink(sink);
    logFirst(1, 'one', 'info', 'b');
    expect(sink).toHaveBeenCalledTimes(2);
  });
});

it('logDeprecated warns about each deprecated name once, and names the replacement', () => {
  setLogSink(sink);
  for (const name of ['one', 'two', 'one']) logDeprecated(name, `new ${name}`);
  expect(sink.mock.calls).toEqual([
    ['warn', 'one is deprecated; use new one instead'],
    ['warn', 'two is deprecated; use new two instead'],
  ]);
});

describe('the console sink', () => {
  const written = vi.spyOn(console, 'error').mockImplementation(() => {});
  beforeEach(() => setLogSink());
  afterEach(() => {
    vi.unstubAllEnvs();
    written.mockClear();
  });

  it.each([
    [undefined, ['coll warn: c']],
    ['warn', ['coll warn: c']],
    ['info', ['coll info: b', 'coll warn: c']],
    ['debug', ['coll debug: a', 'coll info: b', 'coll warn: c']],
    ['silent', []],
  ])('writes to stderr the messages of the levels that COLL_LOG=%s selects', (wanted, lines) => {
    vi.stubEnv('COLL_LOG', wanted);
    log('debug', 'a');
    log('info', 'b');
    log('warn', 'c');
    expect(written.mock.calls.map(([line]) => line)).toEqual(lines);
  });

  it.each([
    ['info', ['coll info: a']],
    ['debug', ['coll info: a', 'coll debug: a', 'coll debug: b']],
    ['silent', []],
  ])('writes repeated messages according to COLL_LOG=%s', (wanted, lines) => {
    vi.stubEnv('COLL_LOG', wanted);
    for (const message of ['a', 'a', 'b']) logFirst(1, 'topic', 'info', message);
    expect(written.mock.calls.map(([line]) => line)).toEqual(lines);
  });

  it('reports an unknown COLL_LOG once and then prints warnings only', () => {
    vi.stubEnv('COLL_LOG', 'verbose');
    for (const message of ['a', 'b']) {
      log('info', message);
      log('warn', message);
    }
    expect(written.mock.calls.map(([line]) => line)).toEqual([
      'coll warn: COLL_LOG must be debug, info, warn or silent, got "verbose"; printing warnings only',
      'coll warn: a',
      'coll warn: b',
    ]);
  });

  it('works in environments without the global process', () => {
    vi.stubGlobal('process', undefined);
    log('warn', 'c');
    vi.unstubAllGlobals();
    expect(written.mock.calls).toEqual([['coll warn: c']]);
  });
});
