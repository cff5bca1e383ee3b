// The line CI ends with: vitest's tests and GoogleTest's. A file that could not be loaded and a report that is missing have
// no tests to count, so they count as one that failed.
import { existsSync, readFileSync } from 'node:fs';

const [vitest, ...googleTests] = process.argv.slice(2);
const counts = [countOf(vitest, countVitest), ...googleTests.map((report) => countOf(report, countGoogleTest))];
const passed = sum(counts.map((count) => count.passed));
const failed = sum(counts.map((count) => count.failed));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && counts.every((count) => count.passed > 0) ? 0 : 1;

function countOf(report, count) {
  return existsSync(report) ? count(JSON.parse(readFileSync(report, 'utf8'))) : { passed: 0, failed: 1 };
}

function countVitest({ numPassedTests, numFailedTests, testResults }) {
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return { passed: numPassedTests, failed: numFailedTests + unloaded.length };
}

function countGoogleTest({ failures, errors, testsuites }) {
  const tests = testsuites.flatMap(({ testsuite }) => testsuite);
  const passed = tests.filter(({ result, failures: of }) => result === 'COMPLETED' && of === undefined);
  return { passed: passed.length, failed: failures + errors };
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
