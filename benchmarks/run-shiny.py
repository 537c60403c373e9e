# Visitors of an app of Shiny who each have a process: how soon a session is there, how long an output takes while one
# visitor computes for long, what memory each process has to itself, and what is left when they have gone. The same of
# Shiny by itself, in one process. See docs/decisions/0103.
#   R_LIBS=.Rlib python3 benchmarks/run-shiny.py VISITORS SECONDS [ROUNDS]

import asyncio, base64, json, os, shutil, signal, statistics, struct, subprocess, sys, tempfile, time

from servers import drover_program, tree, wait_until_it_answers

PORT = 18099
# of a visitor, between an output and the next input, in seconds
PAUSE = 2
APP = """
library(shiny)
data <- lapply(1:200, function(i) stats::rnorm(1e4))
shinyApp(
  fluidPage(textInput("name", "Name"), textOutput("greeting"), textOutput("mean")),
  function(input, output, session) {
    output$greeting <- renderText(paste0("Hello, ", input$name, "!"))
    output$mean <- renderText(mean(data[[1L + nchar(input$name)]]))
    observe(if (isTRUE(input$sleep > 0)) Sys.sleep(input$sleep))
  }
)
"""
HIDDEN = {f".clientdata_output_{name}_hidden": False for name in ("greeting", "mean")}


class Visitor:
    """A page that is open: its WebSocket, by hand, as there is no library for them here."""

    async def come(self):
        began = time.perf_counter()
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", PORT)
        key = base64.b64encode(os.urandom(16)).decode()
        self.writer.write(
            f"GET /websocket/ HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101 "):
            sys.exit(f"no session: {head}")
        while "config" not in await self.hear():
            pass
        return time.perf_counter() - began

    def say(self, method, **data):
        payload = json.dumps({"method": method, "data": data}).encode()
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else struct.pack(">BH", 0x80 | 126, len(payload))
        self.writer.write(b"\x81" + size + bytes(4) + payload)

    async def hear(self):
        while True:
            opcode, size = await self.reader.readexactly(2)
            if size == 126:
                (size,) = struct.unpack(">H", await self.reader.readexactly(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", await self.reader.readexactly(8))
            payload = await self.reader.readexactly(size)
            if opcode & 15 == 8:
                sys.exit(f"a session has ended: {payload}")
            if opcode & 15 == 9:
                self.writer.write(bytes([0x8A, 0x80 | size]) + bytes(4) + payload)
            elif opcode & 15 == 1:
                return json.loads(payload)

    async def until(self, greeting):
        while (await self.hear()).get("values", {}).get("greeting") != greeting:
            pass

    async def begin(self, name):
        self.say("init", **{".clientdata_url_search": "", "name": name}, **HIDDEN)
        await self.until(f"Hello, {name}!")

    async def change(self, name):
        began = time.perf_counter()
        self.say("update", name=name)
        await self.until(f"Hello, {name}!")
        return time.perf_counter() - began

    def leave(self):
        self.writer.close()


def sizes(pid):
    """Proportional and private memory in MB."""
    figures = {"Pss": 0, "Private_Clean": 0, "Private_Dirty": 0}
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            name = line.split(":")[0]
            if name in figures:
                figures[name] = int(line.split()[1])
    return figures["Pss"] / 1024, (figures["Private_Clean"] + figures["Private_Dirty"]) / 1024


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))] * 1000


def state(pid):
    return len(tree(pid)) - 1, len(os.listdir(f"/proc/{pid}/fd")), sizes(pid)[1]


async def visit(server, visitors, seconds, rounds):
    before = state(server.pid)
    pages = [Visitor() for _ in range(visitors)]
    ready = []
    for number, page in enumerate(pages):
        ready.append(await page.come())
        await page.begin(f"v{number}")
        await asyncio.sleep(0.05)
    # settled: spare workers have started
    await asyncio.sleep(1)
    asleep, awake = pages[0], pages[1:]
    asleep.say("update", sleep=seconds)
    end, took = time.perf_counter() + seconds, []

    async def work(number, page):
        turn = 0
        await asyncio.sleep(PAUSE * number / visitors)
        while time.perf_counter() < end:
            turn += 1
            took.append(await page.change(f"n{number}t{turn}"))
            await asyncio.sleep(PAUSE)

    await asyncio.gather(*(work(number, page) for number, page in enumerate(awake)))
    print(f"  session ready:   p50 {quantile(ready, 0.5):6.1f} ms, p99 {quantile(ready, 0.99):6.1f} ms")
    print(f"  input to output: p50 {quantile(took, 0.5):6.1f} ms, p99 {quantile(took, 0.99):6.1f} ms, {len(took)} outputs")
    processes = tree(server.pid)[1:]
    if len(processes) > visitors:
        each = [sizes(pid) for pid in processes[1:]]
        pss, private = (statistics.median(column) for column in zip(*each))
        print(f"  {len(processes)} processes: each PSS {pss:.1f} MB, private {private:.1f} MB (medians)")
    for page in pages:
        page.leave()
    for _ in range(rounds):
        await asyncio.sleep(1)
        pages = [Visitor() for _ in range(visitors)]
        burst = await asyncio.gather(*(page.come() for page in pages))
        print(f"  all at once:     p50 {quantile(burst, 0.5):6.1f} ms, p99 {quantile(burst, 0.99):6.1f} ms")
        for page in pages:
            page.leave()
    await asyncio.sleep(5)
    for name, was, now in zip(("processes", "descriptors", "MB of the server"), before, state(server.pid)):
        print(f"  {name} before and after: {was:.0f} {now:.0f}")


def main():
    visitors, seconds = int(sys.argv[1]), float(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    folder = tempfile.mkdtemp()
    app = os.path.join(folder, "app.R")
    with open(app, "w") as file:
        file.write(APP)
    alone = f"shiny::runApp(source('{app}')$value, port = {PORT}, launch.browser = FALSE, quiet = TRUE)"
    ours = [drover_program(), "serve", app, "--port", str(PORT), "--log=none", "--max-workers", str(visitors + 3)]
    for name, command in (("drover", ours), ("shiny", ["Rscript", "-e", alone])):
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            wait_until_it_answers(f"http://127.0.0.1:{PORT}/")
            time.sleep(1)
            print(f"{name}, {visitors} visitors, one computes for {seconds:.0f} s:")
            asyncio.run(visit(server, visitors, seconds, rounds))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(20)
    shutil.rmtree(folder)


main()
