import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setLogOrigin } from './log-origin.js';
import { isLogged, type LogFields, type LogSink, log, logDeprecated, logFirst, setLogSink } from './logger.js';

const sink = vi.fn<LogSink>();
const nowhere = { rank: undefined, worker: undefined, isReplica: false };

afterEach(() => {
  sink.mockClear();
  setLogSink();
});

it('log() sends lines to the configured sink', () => {
  setLogSink(sink);
  log('debug', 'a');
  log('warn', 'b');
  expect(sink.mock.calls).toEqual([
    ['debug', 'a', expect.objectContaining({ time: expect.any(String) })],
    ['warn', 'b', expect.objectContaining({ time: expect.any(String) })],
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
  expect(sink.mock.calls.map(([level, message]) => [level, message])).toEqual([
    ['warn', 'one is deprecated; use new one instead'],
    ['warn', 'two is deprecated; use new two instead'],
  ]);
});

describe('the console sink', () => {
  const written = vi.spyOn(console, 'error').mockImplementation(() => {});
  /** The levels and messages of the lines, without time and place. */
  const printed = () =>
    written.mock.calls.map(([line]) => String(line).replace(/^coll (\w+) [\d:.]{12}Z (\[[^\]]*\] )?/, '$1 '));
  beforeEach(() => {
    setLogSink();
    vi.useFakeTimers({ now: new Date('2026-01-31T12:03:04.123Z') });
    // Those of the terminal in which the tests run.
    for (const name of ['COLL_RANK', 'COLL_RESTART', 'COLL_PREFIX', 'COLL_LOG_FORMAT']) vi.stubEnv(name, undefined);
    setLogOrigin(nowhere);
  });
  afterEach(() => {
    setLogOrigin(nowhere);
    vi.useRealTimers();
    vi.unstubAllEnvs();
    written.mockClear();
  });

  it.each([
    [undefined, ['warn c']],
    ['warn', ['warn c']],
    ['info', ['info b', 'warn c']],
    ['debug', ['debug a', 'info b', 'warn c']],
    ['silent', []],
  ])('writes to stderr the messages of the levels that COLL_LOG=%s selects', (wanted, lines) => {
    vi.stubEnv('COLL_LOG', wanted);
    log('debug', 'a');
    log('info', 'b');
    log('warn', 'c');
    expect(printed()).toEqual(lines);
  });

  it.each([
    ['info', ['info a']],
    ['debug', ['info a', 'debug a', 'debug b']],
    ['silent', []],
  ])('writes repeated messages according to COLL_LOG=%s', (wanted, lines) => {
    vi.stubEnv('COLL_LOG', wanted);
    for (const message of ['a', 'a', 'b']) logFirst(1, 'topic', 'info', message);
    expect(printed()).toEqual(lines);
  });

  it('reports an unknown COLL_LOG once and then prints warnings only', () => {
    vi.stubEnv('COLL_LOG', 'verbose');
    for (const message of ['a', 'b']) {
      log('info', message);
      log('warn', message);
    }
    expect(printed()).toEqual([
      'warn COLL_LOG must be debug, info, warn or silent, got "verbose"; printing warnings only',
      'warn a',
      'warn b',
    ]);
  });

  it.each([
    ['without the global process', undefined, ['warn']],
    ['with a process that only has variables', { env: { COLL_LOG: 'debug' } }, ['debug', 'info', 'warn']],
  ] as const)('writes by the method of the console for the level in a page %s', (_, process, wanted) => {
    const lines: string[] = [];
    const methods = (['debug', 'info', 'warn'] as const).map((level) =>
      vi.spyOn(console, level).mockImplementation((line) => lines.push(`${level}: ${String(line).split(' ')[1]}`)),
    );
    vi.stubGlobal('process', process);
    for (const level of ['debug', 'info', 'warn'] as const) log(level, 'text');
    vi.unstubAllGlobals();
    for (const method of methods) method.mockRestore();
    expect(lines).toEqual(wanted.map((level) => `${level}: ${level}`));
    expect(written).not.toHaveBeenCalled();
  });

  it.each([
    ['the host alone outside of groups', {}, {}, hostname()],
    ['the rank that the launcher gave to the process', { COLL_RANK: '2' }, {}, `rank 2, ${hostname()}`],
    ['no rank under coll run, which prints it', { COLL_RANK: '2', COLL_RESTART: '0' }, {}, hostname()],
    [
      'the rank under coll run --no-prefix',
      { COLL_RANK: '2', COLL_RESTART: '0', COLL_PREFIX: '0' },
      {},
      `rank 2, ${hostname()}`,
    ],
    ['rank and worker if they differ', {}, { rank: 3, worker: 1 }, `rank 3, worker 1, ${hostname()}`],
    ['one number if rank and worker are equal', {}, { rank: 1, worker: 1 }, `rank 1, ${hostname()}`],
    ['no number in the thread of a replica, which prints it', {}, { rank: 3, isReplica: true }, hostname()],
  ])('prints time and place of a line: %s', (_, variables, origin, place) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    setLogOrigin(origin);
    log('warn', 'late');
    expect(written.mock.calls).toEqual([[`coll warn 12:03:04.123Z [${place}] late`]]);
  });

  it('prints one JSON object per line with COLL_LOG_FORMAT=json', () => {
    vi.stubEnv('COLL_LOG_FORMAT', 'json');
    log('warn', 'two\nlines', { rank: 1, event: 'group opened', data: { members: 4, hosts: ['a'], simd: undefined } });
    const line = String(written.mock.calls[0]?.[0]);
    expect(line).not.toContain('\n');
    expect(JSON.parse(line)).toEqual({
      level: 'warn',
      message: 'two\nlines',
      time: '2026-01-31T12:03:04.123Z',
      rank: 1,
      host: hostname(),
      event: 'group opened',
      data: { members: 4, hosts: ['a'] },
    });
  });

  it('reports an unknown COLL_LOG_FORMAT once and then prints text', () => {
    vi.stubEnv('COLL_LOG_FORMAT', 'xml');
    log('warn', 'a');
    log('warn', 'b');
    expect(printed()).toEqual([
      'warn COLL_LOG_FORMAT must be text or json, got "xml"; printing text',
      'warn a',
      'warn b',
    ]);
  });

  it.each([
    [undefined, [false, false, true]],
    ['info', [false, true, true]],
    ['silent', [false, false, false]],
  ])('isLogged() returns which levels COLL_LOG=%s prints', (wanted, expected) => {
    vi.stubEnv('COLL_LOG', wanted);
    expect((['debug', 'info', 'warn'] as const).map(isLogged)).toEqual(expected);
  });
});

it('passes fields to the sink, also of repeated topics, and accepts sinks of two arguments', () => {
  const fields: LogFields[] = [];
  setLogSink((_level, _message, given) => fields.push(given));
  log('info', 'a', { rank: 2, worker: 1, event: 'slow call', data: { seconds: 2.5 } });
  logFirst(1, 'topic', 'info', 'b');
  expect(fields).toMatchObject([
    { rank: 2, worker: 1, host: hostname(), event: 'slow call', data: { seconds: 2.5 } },
    { host: hostname() },
  ]);
  expect(fields.map(({ time }) => new Date(time).toISOString())).toEqual(fields.map(({ time }) => time));
  const lines: string[] = [];
  setLogSink((level: string, message: string) => lines.push(`${level} ${message}`));
  log('info', 'c');
  expect(lines).toEqual(['info c']);
});

it('passes lines of every level to a sink of the program', () => {
  setLogSink(sink);
  expect((['debug', 'info', 'warn'] as const).map(isLogged)).toEqual([true, true, true]);
});
