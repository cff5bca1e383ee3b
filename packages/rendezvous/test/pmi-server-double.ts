import type { Duplex } from 'node:stream';

/**
 * A double of a launcher's PMI server, which answers PMI-1 and PMI-2 as Hydra and Slurm do. One object serves all ranks of a job; `finalized`
 * counts those that have ended the use of PMI.
 */
export class PmiServerDouble {
  finalized = 0;
  readonly #size: number;
  readonly #values = new Map<string, string>();
  #arrived: (() => void)[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  serve(stream: Duplex): void {
    let received = '';
    let isFramed = false;
    stream.setEncoding('latin1').on('error', () => {});
    stream.on('data', (text: string) => {
      received += text;
      for (;;) {
        const length = isFramed ? 6 + Number(received.slice(0, 6)) : received.indexOf('\n') + 1;
        if (length === 0 || received.length < Math.max(length, isFramed ? 6 : 1)) return;
        const request = received.slice(isFramed ? 6 : 0, length);
        received = received.slice(length);
        const answer = (text: string) => {
          if (stream.writable) stream.write(text, 'latin1');
        };
        if (isFramed) this.#answerFrame(request, (body) => answer(`${String(body.length).padEnd(6)}${body}`));
        else this.#answerLine(request, (line) => answer(`${line}\n`));
        isFramed ||= request.includes('pmi_version=2');
      }
    });
  }

  #answerLine(line: string, answer: (line: string) => void): void {
    const [, command = ''] = /^cmd=(\S+)/.exec(line) ?? [];
    const [, key = '', value = ''] = /key=(\S+)(?: value=(\S+))?/.exec(line) ?? [];
    if (command === 'init') answer('cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0');
    if (command === 'get_my_kvsname') answer('cmd=my_kvsname kvsname=kvs_1_0');
    if (command === 'put') {
      this.#values.set(key, value);
      answer('cmd=put_result rc=0 msg=success');
    }
    if (command === 'barrier_in') this.#arrive(() => answer('cmd=barrier_out'));
    if (command === 'get') answer(`cmd=get_result rc=0 msg=success value=${this.#values.get(key)}`);
    if (command === 'finalize') {
      this.finalized += 1;
      answer('cmd=finalize_ack');
    }
  }

  #answerFrame(body: string, answer: (body: string) => void): void {
    const [, command = ''] = /cmd=([^;]+)/.exec(body) ?? [];
    const [, key = ''] = /key=([^;]+)/.exec(body) ?? [];
    const done = (rest = '') => answer(`cmd=${command}-response;rc=0;${rest}`);
    if (command === 'kvs-put') this.#values.set(key, (/value=([^;]+)/.exec(body) as string[])[1] as string);
    if (command === 'kvs-fence') this.#arrive(done);
    else if (command === 'kvs-get') done(`found=TRUE;value=${this.#values.get(key)};`);
    else done();
    if (command === 'finalize') this.finalized += 1;
  }

  #arrive(pass: () => void): void {
    this.#arrived.push(() => pass());
    if (this.#arrived.length < this.#size) return;
    for (const each of this.#arrived) each();
    this.#arrived = [];
  }
}
