// An MCP server made with SDK v2.  It speaks 2026-07-28 to who asks for it,
// and the versions with a handshake to the others; the SDK turns the same
// tools into server-to-client requests there.
import {
    McpServer, ResourceTemplate, acceptedContent, completable, createRequestStateCodec,
    inputRequired, inputResponse
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const text = value => ({ content: [{ type: 'text', text: value }] });
const codec = createRequestStateCodec({ key: 'a key that is only for tests, 32 bytes or more' });

function addPlainTools(server) {
    server.registerTool('echo',
        { description: 'Gives the text back', inputSchema: z.object({ text: z.string() }) },
        async args => text(args.text));
    server.registerTool('sum', {
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        outputSchema: z.object({ sum: z.number() }),
        annotations: { readOnlyHint: true },
        _meta: { 'example.org/note': [1, null, 'x'] }
    }, async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }));
    server.registerTool('null', { description: 'Structured content that is null' },
        async () => ({ content: [], structuredContent: null }));
    server.registerTool('fail', {}, async () => { throw new Error('no "luck"\n\ttoday'); });
    server.registerTool('blocks', {}, async () => ({
        content: [
            { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
            { type: 'resource_link', uri: 'file:///a%20b', name: 'ä\u{1F512}', mimeType: 'text/plain' },
            { type: 'resource', resource: { uri: 'note://one', text: 'one\r\ntwo' } }
        ],
        _meta: { 'example.org/deep': { a: [{ b: {} }] } }
    }));
    server.registerTool('progress', {}, async ctx => {
        const token = ctx.mcpReq._meta?.progressToken;
        for (let progress = 1; token !== undefined && progress <= 3; progress++)
            await ctx.mcpReq.notify({
                method: 'notifications/progress',
                params: { progressToken: token, progress: progress / 2, total: 1.5, message: `step ${progress}` }
            });
        return text('done');
    });
    server.registerTool('log', {}, async ctx => {
        await ctx.mcpReq.log('warning', { a: [1, 'two'] }, 'server26');
        return text('logged');
    });
    server.registerTool('slow', {}, ctx => new Promise(resolve =>
        ctx.mcpReq.signal.addEventListener('abort', () => resolve(text('cancelled')))));
}

function addAskingTools(server) {
    const question = (message, schema) => inputRequired.elicit({ message, requestedSchema: schema });
    const name = z.object({ name: z.string() });
    const sure = z.object({ sure: z.boolean() });

    // Two questions, the second knows the first one's answer by its state.  A
    // state knows its second alone: the number tells apart two of one second.
    let asked = 0;
    server.registerTool('ask', {}, async ctx => {
        const state = ctx.mcpReq.requestState();
        const answers = ctx.mcpReq.inputResponses;
        if (state === undefined)
            return inputRequired({
                inputRequests: { name: question('Who?', name) },
                requestState: await codec.mint({ round: 1, n: ++asked }, ctx)
            });
        if (state.round === 1)
            return inputRequired({
                inputRequests: { sure: question('Sure?', sure) },
                requestState: await codec.mint({
                    round: 2, n: state.n, name: acceptedContent(answers, 'name')?.name ?? null
                }, ctx)
            });
        return text(JSON.stringify([state, acceptedContent(answers, 'sure') ?? null]));
    });
    server.registerTool('sample', {}, async ctx => {
        const got = inputResponse(ctx.mcpReq.inputResponses, 'sample');
        if (ctx.mcpReq.inputResponses !== undefined)
            return text(JSON.stringify(got));
        return inputRequired({
            inputRequests: {
                sample: inputRequired.createMessage({
                    messages: [{ role: 'user', content: { type: 'text', text: 'A word?' } }],
                    maxTokens: 10
                })
            }
        });
    });
    server.registerTool('roots', {}, async ctx => {
        const got = inputResponse(ctx.mcpReq.inputResponses, 'roots');
        if (ctx.mcpReq.inputResponses !== undefined)
            return text(JSON.stringify(got));
        return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    });
}

function addChangingTools(server) {
    let grown = 0;

    server.registerTool('grow', { description: 'One tool more' }, async () => {
        grown++;
        server.registerTool(`grown-${grown}`, {}, async () => text('here'));
        return text('grown');
    });
    server.registerTool('touch', { description: 'Says that note://one has changed' }, async () => {
        await server.server.sendResourceUpdated({ uri: 'note://one' });
        return text('touched');
    });
}

function addRest(server) {
    server.registerResource('one', 'note://one',
        { mimeType: 'text/plain', cacheHint: { ttlMs: 60000, cacheScope: 'public' } },
        async uri => ({ contents: [{ uri: uri.href, text: 'the note' }] }));
    server.registerResource('any', new ResourceTemplate('note://any/{name}', {
        list: undefined,
        complete: { name: value => ['alpha', 'beta'].filter(v => v.startsWith(value)) }
    }), {}, async (uri, { name }) => ({ contents: [{ uri: uri.href, blob: btoa(name) }] }));
    server.registerPrompt('greet', {
        argsSchema: z.object({
            who: completable(z.string(), value => ['anna', 'bob'].filter(v => v.startsWith(value)))
        })
    }, ({ who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello ${who}` } }] }));
}

serveStdio(() => {
    const server = new McpServer({ name: 'server26', version: '1.0.0', title: 'Sérver' }, {
        capabilities: {
            tools: { listChanged: true }, prompts: {}, logging: {}, completions: {},
            resources: { subscribe: true, listChanged: true }
        },
        instructions: 'For tests.',
        cacheHints: { 'tools/list': { ttlMs: 60000, cacheScope: 'public' } },
        requestState: { verify: codec.verify }
    });
    addPlainTools(server);
    addAskingTools(server);
    addChangingTools(server);
    addRest(server);
    for (const method of ['resources/subscribe', 'resources/unsubscribe'])
        server.server.setRequestHandler(method, async () => ({}));
    return server;
});
