/** What a program printed. */
export interface Outcome {
  readonly printed: string;
  /** What it wrote to standard error, and the error that ended it. */
  readonly complaints: string;
}

// Runs the programs in the files that the arguments name, one after the other, and prints an outcome for each, on a line of its own.
const print = process.stdout.write.bind(process.stdout);
const written = { printed: '', complaints: '' };

process.stdout.write = (chunk: unknown): boolean => {
  written.printed += String(chunk);
  return true;
};
process.stderr.write = (chunk: unknown): boolean => {
  // TensorFlow.js recommends its package for Node.js.
  if (!String(chunk).includes('TensorFlow.js in Node.js')) written.complaints += String(chunk);
  return true;
};

for (const file of process.argv.slice(2)) {
  Object.assign(written, { printed: '', complaints: '' });
  try {
    await import(file);
  } catch (error) {
    written.complaints += error instanceof Error ? error.stack : String(error);
  }
  print(`${JSON.stringify(written)}\n`);
}
Object.assign(process.stdout, { write: print });
