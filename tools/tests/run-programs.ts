/** The output of a program. */
export interface Outcome {
  readonly printed: string;
  /** The output to stderr, and the error that ended the program. */
  readonly complaints: string;
}

// Runs the programs in the files of the arguments one after the other, and prints a line with the outcome of each.
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
