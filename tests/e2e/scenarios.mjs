// What the clients do with each server.  A scenario waits for what it causes
// before it goes on, so that two runs give the same transcript.
import { mkdirSync, writeFileSync } from 'node:fs';

const isLog = m => m.method === 'notifications/message';
const is = method => m => m.method === method;

function abortSoon(ms) {
    const controller = new AbortController();
    setTimeout(() => controller.abort('enough'), ms);
    return controller.signal;
}

function answerRequests(on) {
    const answers = [
        { action: 'accept', content: { name: 'Ånna "A"', sure: true } }, { action: 'accept', content: { name: 'B', sure: false } },
        { action: 'decline' }, { action: 'cancel' }
    ];
    on('sampling/createMessage', () => ({
        model: 'none', role: 'assistant', content: { type: 'text', text: 'word \u{1F600}\n' }
    }));
    on('elicitation/create', () => answers.shift() ?? { action: 'decline' });
    on('roots/list', () => ({ roots: [{ uri: 'file:///roots/one', name: 'one' }, { uri: 'file:///roots/two%20b' }] }));
}

async function listAll({ step, client }) {
    await step('tools', () => client.listTools());
    await step('prompts', () => client.listPrompts());
    await step('resources', () => client.listResources());
    await step('templates', () => client.listResourceTemplates());
}

async function together({ step, call }, name, key, make, options) {
    await step('32 calls at once', () => Promise.all(Array.from({ length: 32 }, (_, i) =>
        call({ name, arguments: { [key]: make(i) } }))), options);
}

const ODD = 'quote " back \\ slash / tab \t cr \r nl \n bell \u0007 é \u{1F512} \u2028 \u202e <>&';

export async function everything(api) {
    const { step, settle, client, call, on, raw, wanted } = api;
    answerRequests(on);
    const rootsCame = () => settle(m => isLog(m) && /^Roots updated/.test(m.params.data));
    await step('roots are asked for', rootsCame);
    await listAll(api);
    await step('ping', () => client.ping());
    for (const [name, args] of [
        ['echo', { message: ODD }], ['echo', {}], ['no-such-tool', {}],
        ['get-sum', { a: 1.5, b: 9007199254740991 }], ['get-tiny-image', {}],
        ['get-annotated-message', { messageType: 'error', includeImage: true }],
        ['get-structured-content', { location: 'Chicago' }], ['get-resource-links', { count: 3 }],
        ['get-resource-reference', { resourceType: 'Text', resourceId: 1 }],
        ['get-env', {}], ['trigger-sampling-request', { prompt: 'p', maxTokens: 5 }],
        ['get-roots-list', {}]
    ])
        await step(`${name} ${JSON.stringify(args)}`, () => call({ name, arguments: args }));
    for (let i = 0; i < 4; i++)
        await step(`elicitation ${i}`, () => call({ name: 'trigger-elicitation-request', arguments: {} }));
    await step('elicitation by URL', () => call({
        name: 'trigger-url-elicitation', arguments: { url: 'https://example.org/x?y=z', elicitationId: 'e-1' }
    }));
    await step('elicitation by error', () => call({
        name: 'trigger-url-elicitation', arguments: { url: 'https://example.org/', errorPath: true }
    }));
    const long = (duration, steps, options) => call(
        { name: 'trigger-long-running-operation', arguments: { duration, steps } }, options);
    await step('progress', () => long(0.3, 3, { onprogress: () => { } }));
    await step('cancelled', () => long(0.5, 1, { signal: abortSoon(100) }));
    await together(api, 'echo', 'message', i => `${i} ${'x'.repeat(i * 300)}`);
    await step('log level', () => client.setLoggingLevel('debug'));
    await step('logging on', () => Promise.all([settle(isLog),
        call({ name: 'toggle-simulated-logging', arguments: {} })]));
    await step('logging off', () => call({ name: 'toggle-simulated-logging', arguments: {} }));
    const uri = 'demo://resource/dynamic/text/1';
    await step('subscribe', () => client.subscribeResource({ uri }));
    await step('updates on', () => Promise.all([settle(is('notifications/resources/updated')),
        call({ name: 'toggle-subscriber-updates', arguments: {} })]));
    await step('updates off', () => call({ name: 'toggle-subscriber-updates', arguments: {} }));
    await step('unsubscribe', () => client.unsubscribeResource({ uri }));
    for (const u of [uri, 'demo://resource/dynamic/blob/2', 'demo://resource/dynamic/text/x',
        'demo://resource/static/document/features.md', 'demo://none'])
        await step(`read ${u}`, () => client.readResource({ uri: u }));
    await step('prompt', () => client.getPrompt({ name: 'simple-prompt' }));
    await step('prompt with arguments', () => client.getPrompt({
        name: 'args-prompt', arguments: { city: 'Zürich', state: 'ZH' }
    }));
    await step('no such prompt', () => client.getPrompt({ name: 'none' }));
    await step('completion', () => client.complete({
        ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
        argument: { name: 'resourceId', value: '1' }
    }));
    await step('unknown method', () => raw('example.org/unknown', { a: [1, { b: null }] }));
    await step('roots change', () => Promise.all([rootsCame(), client.sendRootsListChanged()]));
    if (api.generation === 'v1' && !wanted)
        await tasks(api);
}

// The tasks of 2025-11-25, which SDK v1 has.
async function tasks({ step, raw }) {
    let taskId;
    await step('task', async () => {
        const result = await raw('tools/call', {
            name: 'simulate-research-query', arguments: { topic: 'doors' }, task: { ttl: 60000 }
        });
        taskId = result.task.taskId;
    });
    await step('task get', () => raw('tasks/get', { taskId }));
    await step('task cancel', () => raw('tasks/cancel', { taskId }));
    await step('task result', () => raw('tasks/result', { taskId }));
}

export async function filesystem(api) {
    const { step, call, on, dir } = api;
    on('roots/list', () => ({ roots: [{ uri: `file://${dir}/desk`, name: 'desk' }] }));
    await step('roots are asked for', () => api.settle(is('roots/list')));
    await step('tools', () => api.client.listTools());
    const desk = `${dir}/desk`;
    for (const [name, args] of [
        ['list_allowed_directories', {}],
        ['write_file', { path: `${desk}/a.txt`, content: ODD }],
        ['read_text_file', { path: `${desk}/a.txt` }],
        ['write_file', { path: `${desk}/big.txt`, content: 'line\n'.repeat(100000) }],
        ['read_text_file', { path: `${desk}/big.txt` }],
        ['read_text_file', { path: `${desk}/big.txt`, head: 3 }],
        ['create_directory', { path: `${desk}/sub/ümlaut` }],
        ['move_file', { source: `${desk}/a.txt`, destination: `${desk}/sub/b.txt` }],
        ['edit_file', { path: `${desk}/sub/b.txt`, edits: [{ oldText: 'quote', newText: 'QUOTE' }] }],
        ['list_directory', { path: desk }],
        ['list_directory_with_sizes', { path: desk }],
        ['directory_tree', { path: desk }],
        ['search_files', { path: desk, pattern: '**/*.txt' }],
        ['get_file_info', { path: `${desk}/sub/b.txt` }],
        ['read_multiple_files', { paths: [`${desk}/sub/b.txt`, `${desk}/none`] }],
        ['read_media_file', { path: `${desk}/pixel.png` }],
        ['read_text_file', { path: '/etc/passwd' }],
        ['read_text_file', { path: `${desk}/none` }]
    ])
        await step(`${name} ${args.path ?? ''}`, () => call({ name, arguments: args }));
    await together(api, 'get_file_info', 'path', () => `${desk}/big.txt`, { anyOrder: true });
}

filesystem.prepare = dir => {
    mkdirSync(`${dir}/desk`);
    writeFileSync(`${dir}/desk/pixel.png`, Buffer.from('89504e470d0a1a0a', 'hex'));
};

export async function memory(api) {
    const { step, call, client } = api;
    await step('tools', () => client.listTools());
    const people = ['Ana', 'Bo'].map(name => ({ name, entityType: 'person', observations: [ODD] }));
    for (const [name, args] of [
        ['create_entities', { entities: people }],
        ['create_relations', { relations: [{ from: 'Ana', to: 'Bo', relationType: 'knows' }] }],
        ['add_observations', { observations: [{ entityName: 'Ana', contents: ['likes doors'] }] }],
        ['search_nodes', { query: 'doors' }],
        ['open_nodes', { names: ['Bo'] }],
        ['read_graph', {}],
        ['delete_observations', { deletions: [{ entityName: 'Ana', observations: ['likes doors'] }] }],
        ['delete_entities', { entityNames: ['Bo'] }],
        ['read_graph', {}],
        ['add_observations', { observations: [{ entityName: 'nobody', contents: ['x'] }] }]
    ])
        await step(name, () => call({ name, arguments: args }));
}

export async function server26(api) {
    const { step, settle, client, call, on, raw, modern } = api;
    answerRequests(on);
    await listAll(api);
    await step('tools again', () => client.listTools());
    for (const [name, args] of [
        ['echo', { text: ODD }], ['echo', {}], ['none', {}], ['sum', { a: 0.1, b: 0.2 }],
        ['null', {}], ['fail', {}], ['blocks', {}], ['log', {}], ['sample', {}], ['roots', {}]
    ])
        await step(`${name} ${JSON.stringify(args)}`, () => call({ name, arguments: args }));
    for (let i = 0; i < 3; i++)
        await step(`ask ${i}`, () => call({ name: 'ask', arguments: {} }));
    if (modern)
        await step('log that was asked for', () => call({
            name: 'log', arguments: {}, _meta: { 'io.modelcontextprotocol/logLevel': 'debug' }
        }));
    await step('progress', () => call({ name: 'progress', arguments: {} }, { onprogress: () => { } }));
    await step('cancelled', () => call({ name: 'slow', arguments: {} }, { signal: abortSoon(100) }));
    await together(api, 'echo', 'text', i => `${i} ${'y'.repeat(i * 300)}`);
    let listening;
    await step('listen', async () => {
        if (modern)
            listening = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['note://one'] });
        else
            await client.subscribeResource({ uri: 'note://one' });
    });
    await step('a tool more', () => Promise.all([settle(is('notifications/tools/list_changed')),
        call({ name: 'grow', arguments: {} })]));
    await step('an update', () => Promise.all([settle(is('notifications/resources/updated')),
        call({ name: 'touch', arguments: {} })]));
    await step('tools after the change', () => client.listTools());
    await step('stop listening', () => modern ? listening.close() : client.unsubscribeResource({ uri: 'note://one' }));
    for (const uri of ['note://one', 'note://any/x', 'note://none/x'])
        await step(`read ${uri}`, () => client.readResource({ uri }));
    await step('prompt', () => client.getPrompt({ name: 'greet', arguments: { who: 'anna' } }));
    await step('completion', () => client.complete({
        ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'b' }
    }));
    await step('completion of a template', () => client.complete({
        ref: { type: 'ref/resource', uri: 'note://any/{name}' }, argument: { name: 'name', value: '' }
    }));
    await step('unknown method', () => raw('example.org/unknown', { a: [1, { b: null }] }));
}
