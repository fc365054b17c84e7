// Plays one scenario against one server command with a real client and prints
// what went over the wire, as JSON, with volatile values masked.
//
//   node transcript.mjs CLIENT SCENARIO DIR -- COMMAND [ARGUMENT...]
//
// CLIENT is v1, v1:VERSION (that version is asked for), v2 or v2:auto; the
// last starts the command twice.  DIR is a directory of the scenario's own.
import * as scenarios from './scenarios.mjs';

const [mode, scenario, dir, dashes, command, ...args] = process.argv.slice(2);
if (dashes !== '--' || command === undefined || !(scenario in scenarios))
    throw new Error('usage: transcript.mjs CLIENT SCENARIO DIR -- COMMAND [ARGUMENT...]');
const [generation, wanted] = mode.split(/:(.*)/);
const DEADLINE_MS = 45000;

setTimeout(() => {
    console.error(`no end in step "${steps.at(-1)?.name}":`, JSON.stringify(steps.at(-1)));
    process.exit(3);
}, DEADLINE_MS).unref();

// ---- what is written down ----

const steps = [];
let instances = 0;

function record(direction, instance, message) {
    steps.at(-1)[direction].push(instance === undefined ? message : { instance, message });
    for (const wake of waiting.splice(0))
        wake();
}

const waiting = [];

// Until the step has received n messages that match.
async function settle(match, n = 1) {
    const count = () => steps.at(-1).received.filter(m => match(m.message)).length;
    while (count() < n)
        await new Promise(resolve => waiting.push(resolve));
}

const seen = { uuid: new Map(), state: new Map() };

function numbered(kind, value) {
    const map = seen[kind];
    if (!map.has(value))
        map.set(value, `<${kind} ${map.size + 1}>`);
    return map.get(value);
}

function maskString(s) {
    return s.replaceAll(dir, '<dir>')
        .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, v => numbered('uuid', v))
        .replace(/\b[0-9a-f]{32}\b/g, v => numbered('uuid', v))
        .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
        .replace(/\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4}( \([^)]*\))?/g, '<time>')
        .replace(/\d{1,2}:\d\d:\d\d [AP]M/g, '<time>');
}

// What is a task's id is known by its key.
function mask(value, key) {
    if (typeof value === 'string') {
        if (key === 'requestState')
            return numbered('state', value);
        if (key === 'taskId')
            return numbered('uuid', value);
        if (key === 'blob' && /created at/.test(atob(value)))
            return `<base64 of ${maskString(atob(value))}>`;
        return maskString(value);
    }
    if (Array.isArray(value))
        return value.map(v => mask(v, key));
    if (value === null || typeof value !== 'object')
        return value;
    // server-everything logs at a level that it draws by lot.
    if (/^[A-Z][a-z]+[- ]level[- ]message$/.test(value.data ?? ''))
        return { ...value, level: '<level>', data: '<message>' };
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, mask(v, k)]));
}

// ---- the client ----

// The class itself is patched, not extended: SDK v2 probes on a process of
// its own only for the very class.
function watch(Transport) {
    const { start, send } = Transport.prototype;
    Transport.prototype.start = function () {
        let handler = this.onmessage;
        this.instance = instances++;
        Object.defineProperty(this, 'onmessage', {
            configurable: true,
            get: () => (message, ...rest) => {
                record('received', this.instance, structuredClone(message));
                return handler?.(message, ...rest);
            },
            set: h => { handler = h; }
        });
        const started = start.call(this);
        this.child = this._process;
        this.ended = new Promise(resolve =>
            this.child.once('exit', (code, signal) => resolve({ code, signal })));
        return started;
    };
    Transport.prototype.send = function (message, ...rest) {
        if (generation === 'v1' && wanted && message.method === 'initialize')
            message = { ...message, params: { ...message.params, protocolVersion: wanted } };
        record('sent', this.instance, structuredClone(message));
        return send.call(this, message, ...rest);
    };
}

const info = { name: 'transcript', version: '1.0.0' };
const capabilities = {
    sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true }
};

async function makeV1() {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const types = await import('@modelcontextprotocol/sdk/types.js');
    const schemas = {
        'sampling/createMessage': types.CreateMessageRequestSchema,
        'elicitation/create': types.ElicitRequestSchema,
        'roots/list': types.ListRootsRequestSchema
    };
    const client = new Client(info, { capabilities });
    return {
        client, Transport: StdioClientTransport,
        on: (method, handler) => client.setRequestHandler(schemas[method], handler),
        call: (params, options) => client.callTool(params, undefined, options),
        raw: (method, params) => client.request({ method, params }, types.ResultSchema)
    };
}

async function makeV2() {
    const { Client } = await import('@modelcontextprotocol/client');
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    const z = await import('zod');
    const client = new Client(info, {
        capabilities, ...(wanted ? { versionNegotiation: { mode: wanted } } : {})
    });
    return {
        client, Transport: StdioClientTransport,
        on: (method, handler) => client.setRequestHandler(method, handler),
        call: (params, options) => client.callTool(params, options),
        raw: (method, params) => client.request({ method, params }, z.looseObject({}))
    };
}

const api = await (generation === 'v1' ? makeV1() : makeV2());
watch(api.Transport);
const transport = new api.Transport({
    command, args, cwd: dir, env: { MEMORY_FILE_PATH: `${dir}/memory.jsonl` }
});

// A step is what is sent and received from its begin to its end.  An error
// that the client throws is written down as well.
// Where a server answers in an order of its own (file system calls that run
// at once), anyOrder sorts what was received.
async function step(name, action, { anyOrder = false } = {}) {
    steps.push({ name, sent: [], received: [] });
    try {
        await action();
    } catch (error) {
        if (error instanceof TypeError || error instanceof ReferenceError)
            throw error;
        steps.at(-1).error = error.message;
    }
    if (anyOrder)
        steps.at(-1).received.sort((a, b) => a.message.id - b.message.id);
}

scenarios[scenario].prepare?.(dir);
await step('connect', () => api.client.connect(transport));
if (steps[0].error !== undefined)
    throw new Error(`cannot connect: ${steps[0].error}`);
api.modern = api.client.getProtocolEra?.() === 'modern';
await scenarios[scenario]({ ...api, step, settle, mode, generation, wanted, dir });
await step('close', async () => {
    await api.client.close();
    const { code, signal } = await transport.ended;
    // A wrapper reports the server's signal the way a shell does.
    const { constants } = await import('node:os');
    steps.at(-1).exit = signal === null ? code : 128 + constants.signals[signal];
});
process.stdout.write(JSON.stringify(mask(steps), null, 1) + '\n', () => process.exit(0));
