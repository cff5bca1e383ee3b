// The line CI ends with: vitest's tests and GoogleTest's. A case that several commands of vitest run counts once. A file that
// could not be loaded and a report that is missing have no tests to count, so they count as one that failed.
import { existsSync, readFileSync } from 'node:fs';

const [core, rest, mpi, ...googleTests] = process.argv.slice(2);
const counted = new Set();
const counts = [
  ...[core, rest, mpi].map((report) => countOf(report, countVitest)),
  ...googleTests.map((report) => countOf(report, countGoogleTest)),
];
const passed = sum(counts.map((count) => count.passed));
const failed = sum(counts.map((count) => count.failed));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && counts.every((count) => count.passed > 0) ? 0 : 1;

function countOf(report, count) {
  return existsSync(report) ? count(JSON.parse(readFileSync(report, 'utf8'))) : { passed: 0, failed: 1 };
}

function countVitest({ testResults }) {
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  const tests = testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ title: `${file} ${fullName}`, status })),
  );
  const failed = tests.filter(({ status }) => status === 'failed').length + unloaded.length;
  const passed = tests.filter(({ title, status }) => status === 'passed' && !counted.has(title));
  for (const { title } of passed) counted.add(title);
  return { passed: passed.length, failed };
}

function countGoogleTest({ failures, errors, testsuites }) {
  const tests = testsuites.flatMap(({ testsuite }) => testsuite);
  const passed = tests.filter(({ result, failures: of }) => result === 'COMPLETED' && of === undefined);
  return { passed: passed.length, failed: failures + errors };
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
