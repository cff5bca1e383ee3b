import { parentPort, Worker } from 'node:worker_threads';

/**
 * A worker thread of the same script. It runs scenes one after the other: the functions that the script passes to `runScenes`.
 */
export class RankThread {
  #worker;
  #scene;
  #hasEnded = false;
  /** With the exit code, once the thread is gone. */
  exited;

  /** `script`: its `import.meta.url`; `options`: of a worker. */
  constructor(script, options = {}) {
    this.#worker = new Worker(new URL(script), options);
    this.#worker.on('message', ({ answer, error }) => {
      if (error) this.#scene?.reject(error);
      else this.#scene?.resolve(answer);
    });
    // That of a script or scene which fails outside of its promise, on purpose or not; whoever awaits the scene sees it.
    this.#worker.on('error', (error) => this.#scene?.reject(error));
    this.exited = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#hasEnded = true;
        this.#scene?.reject(new Error(`the thread has ended with ${code}`));
        resolve(code);
      });
    });
  }

  get hasEnded() {
    return this.#hasEnded;
  }

  /** What the scene returns. Throws what it throws, or where the thread ends before that. */
  run(scene, data) {
    return new Promise((resolve, reject) => {
      this.#scene = { resolve, reject };
      this.#worker.postMessage({ scene, data });
    });
  }

  terminate() {
    return this.#worker.terminate();
  }

  /** Lets the thread end by itself, which it does when it has nothing left to do. */
  async end() {
    if (!this.#hasEnded) this.#worker.postMessage({ scene: 'end' });
    return this.exited;
  }
}

/** In the thread: runs each requested scene. */
export function runScenes(scenes) {
  parentPort.on('message', async ({ scene, data }) => {
    if (scene === 'end') {
      parentPort.close();
      return;
    }
    try {
      parentPort.postMessage({ answer: await scenes[scene](data) });
    } catch (error) {
      parentPort.postMessage({ error });
    }
  });
}

/** The same scene on several threads, as ranks 0, 1, ... of a group. */
export function runTogether(threads, scene, data) {
  return Promise.all(threads.map((thread, rank) => thread.run(scene, { ...data, rank })));
}
