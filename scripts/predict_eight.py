"""Figures behind scripts/predict_eight: what is asked of dlo predict, and how it is written."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

MIB = 1 << 20
WAN_14B = ["--preset", "wan_14b", "--blocks", "16"]
WAN_1_3B = ["--preset", "wan_1_3b"]

TWO_GPUS = pathlib.Path(__file__).resolve().parent.parent / "reports" / "h200_2gpu"


def on_two(run, name):
    """A figure of two H200s, from the recorded run."""
    results = json.loads((TWO_GPUS / run / "results.json").read_text())
    metrics = next(scenario["metrics"] for scenario in results["scenarios"]
                   if scenario["name"].endswith("/dp2"))
    return next(metric["value"] for metric in metrics if metric["name"] == name)


def traced(run, tokens, other_ms):
    """Compute of a 14B block; the edges' milliseconds were read off a trace."""
    block_ms = on_two(run, "resident.compute_p50_ms")
    return (["--compute-ms", f"{block_ms:.3f}", "--other-ms", other_ms],
            f"14B block of {block_ms:.2f} ms at {tokens} tokens: traced resident forward, "
            f"reports/h200_2gpu/{run}")


# Compute of the models: resident forwards of this program on H200s, but for what says otherwise.
SHORT_14B = traced("14b_short", "1,280", "0.35")
LONG_14B = traced("14b_long", "32,760", "1.0")
LINK_14B = (["--tokens", "256"],
            "14B block of 0.4 ms at 256 tokens: operations at the calibrated rate, extrapolated")
SHORT_1_3B = (["--tokens", "1280"],
              "1.3B block of 0.24 ms at 1,280 tokens: operations at the calibrated rate, "
              "extrapolated; launches take longer, and are measured (see host, ns a block)")
LONG_1_3B = (["--compute-ms", "20.4"],
             "1.3B block of 20.4 ms at 32,760 tokens: resident forward of 611 ms of another "
             "program (diffusers) on the same GPUs")
RUNS_ON_TWO = ["1_3b_short", "14b_short", "14b_long"]
TOLERANCE = 0.10  # of a prediction against the measurement
COMPUTE = [SHORT_14B, LONG_14B, LINK_14B, SHORT_1_3B, LONG_1_3B]

# Two GPUs, copy engines, this program: a 14B block of 702.8 MB and a 1.3B one of 92.9 MB, half of
# each pulled over NVLink and half copied on the device, one after the other.
LARGE_MS = on_two("14b_short", "gather_ms")
SMALL_MS = on_two("1_3b_short", "gather_ms")
LAUNCH_MS = on_two("1_3b_short", "resident.forward_ms")  # 30 blocks, bound by launches
PULL = 370e9  # bytes/s of one pull over NVLink
LINE = (LARGE_MS - SMALL_MS) * 1e-3 / (702.8e6 - 92.9e6)  # s a gathered byte over two GPUs
OWN = 1 / (LINE / 0.5 - 1 / PULL)  # bytes/s of the copy of a rank's own piece
EIGHT = 1 / (0.125 / OWN + 0.875 / PULL)  # one own piece, seven pulls


def measured(value, source):
    return {"value": value, "source": source, "extrapolated": False}


def extrapolated(value, source):
    return {"value": value, "source": source, "extrapolated": True}


def calibrations(program):
    """nccl: the built-in table with this program's launches; copy_engine: its gathers too."""
    base = ask(program, ["--device", "h200", "--ranks", "8", "--transfer", "all_gather",
                         "--forwards", "1", *WAN_14B, "--compute-ms", "1"])["calibration"]
    nccl = copy.deepcopy(base)
    nccl["name"] = "h200_nccl"
    nccl["host"]["block_ns"] = measured(
        round(LAUNCH_MS / 30 * 1e6), f"this program on 2 H200s: 1.3B resident forward of "
        f"{LAUNCH_MS:.2f} ms, bound by launches, over 30 blocks (reports/h200_2gpu/1_3b_short)")
    engines = copy.deepcopy(nccl)
    engines["name"] = "h200_copy_engine"
    engines["gather"] = {
        "latency_ns": extrapolated(
            7 * 5.5e3, f"seven pulls at the 5.5 us of one: line through 702.8 MB in {LARGE_MS:.3f} "
                       f"and 92.9 MB in {SMALL_MS:.4f} ms over 2 H200s (reports/h200_2gpu)"),
        "bytes_per_s": {"8": extrapolated(
            round(EIGHT, -9),
            "one own piece and seven pulls in a row: a pull at 370 GB/s (1 GiB over 2 GPUs in "
            f"1.45 ms, CUDA IPC), a piece's copy on the device at {OWN / 1e9:.0f} GB/s, which is "
            "what is left of the line over 2 H200s")}}
    engines["compute"]["lost_beside_gather"] = measured(
        0.067, "this program on 2 H200s: GEMMs lose 0.11 ms beside a gather of 1.59 ms (-0.3 to "
               "3.0 over eight repeats); a bare loop of pulls: 0.40")
    engines["host"]["gather_ns"] = extrapolated(
        8.4e3, "three calls of the driver, two meetings and the launch of eight copies, at 2.8 us "
               "each, as calls took over 2 GPUs; 1.6 us the launch on one (benchmark gather_copies)")
    return {"nccl": nccl, "copy_engine": engines}


def ask(program, arguments):
    done = subprocess.run([program, "predict", *arguments, "--json"], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"predict_eight: dlo predict {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Predictor:
    def __init__(self, program, folder, tables):
        self.program, self.folder, self.tables = program, folder, tables
        self.files = {}
        for name, table in tables.items():
            self.files[name] = folder / f"calibration_{name}.json"
            self.files[name].write_text(json.dumps(table, indent=1) + "\n")

    def row(self, gather, transfer, model, compute, chunk=64 * MIB, **names):
        """One prediction; `names` says what of a results.json it is held against."""
        arguments = ["--calibration", str(self.files[gather]), "--ranks", "8", "--transfer",
                     transfer, *model, *compute[0], "--chunk-bytes", str(chunk)]
        found = self.times(arguments)
        limit = found if chunk == 0 else self.times([*arguments[:-1], "0"])
        found["limit_ms"] = max(limit["h2d_ms"], limit["gather_ms"])
        found["share_percent"] = 100 * found["limit_ms"] / found["block_ms"]
        found["command"] = "dlo predict " + " ".join(arguments)
        return {**names, "gather": gather, "transfer": transfer, "chunk_bytes": chunk, **found}

    def times(self, arguments):
        """Milliseconds a block, means over the forward."""
        answer = ask(self.program, arguments)
        result, blocks = answer["result"], len(answer["request"]["blocks"])
        busy = {key: value["busy_ns"] / 1e6 / blocks for key, value in result["resources"].items()}
        return {"forward_ms": result["wave_ns"] / 1e6, "block_ms": result["wave_ns"] / 1e6 / blocks,
                "h2d_ms": busy["h2d"], "gather_ms": busy["gather"], "compute_ms": busy["compute"],
                "host_ms": busy["host_dispatch"], "lost_ms": result["lost_ns"] / 1e6 / blocks,
                "bound": result["bound"], "chunks": result["chunks_per_block"],
                "block_bytes": answer["request"]["blocks"][0]["bytes"]}


def arms(predictor):
    rows = []
    for scenario, model, compute in [
            ("h200_14b_short", WAN_14B, SHORT_14B), ("h200_14b_long", WAN_14B, LONG_14B),
            ("h200_1_3b_short", WAN_1_3B, SHORT_1_3B), ("h200_1_3b_long", WAN_1_3B, LONG_1_3B)]:
        for transfer in ["resident", "rank_local", "all_gather"]:
            rows.append(predictor.row("copy_engine", transfer, model, compute,
                                      scenario=f"{scenario}/dp8", arm=transfer))
        rows.append(predictor.row("nccl", "all_gather", model, compute,
                                  scenario=f"{scenario}, gathered by NCCL", arm="all_gather"))
    return rows


def sweep(predictor):
    rows = []
    for gather in predictor.tables:
        names = {"preset": "wan_14b", "scenario": f"h200_chunks/dp8/gather={gather}"}
        for size, arm in [(0, "whole_block"), (64, "all_gather"), (32, "chunks_32_mib"),
                          (16, "chunks_16_mib"), (8, "chunks_8_mib"), (4, "chunks_4_mib"),
                          (2, "chunks_2_mib")]:
            rows.append(predictor.row(gather, "all_gather", WAN_14B, LINK_14B, size * MIB, arm=arm,
                                      **names))
        for size in [0, 8, 4, 2, 1]:
            rows.append(predictor.row(gather, "all_gather", WAN_1_3B, SHORT_1_3B, size * MIB,
                                      preset="wan_1_3b", scenario="", arm=""))
    return rows


def gathers(predictor):
    """Of one block at once, by the sizes of h200_gather_sizes."""
    rows = []
    for gather in predictor.tables:
        for preset in ["wan_cpu", "wan_1_3b", "wan_14b", "h3_16"]:
            row = predictor.row(gather, "all_gather", ["--preset", preset, "--blocks", "3"],
                                (["--compute-ms", "0.2"], ""), 0, preset=preset, arm="",
                                scenario=f"h200_gather_sizes/dp8/preset={preset}/gather={gather}")
            rows.append(row)
    return rows


def crossing_bytes(table):
    """Bytes a rank and chunk above which the link binds; None where the gather always does."""
    h2d, gather = table["h2d"], table["gather"]
    slope = 1 / h2d["bytes_per_s"]["8"]["value"] - 8 / gather["bytes_per_s"]["8"]["value"]
    latency = gather["latency_ns"]["value"] - h2d["latency_ns"]["value"]
    return latency / 1e9 / slope if slope > 0 else None


def sensitivity(program, tables):
    """What binds if the two extrapolated rates are others."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for h2d in [23.3e9, 35e9, 46.6e9, 55.4e9]:
            for gather in [254e9, 386e9, 413e9, 444e9]:
                table = copy.deepcopy(tables["copy_engine"])
                table["h2d"]["bytes_per_s"]["8"] = extrapolated(h2d, "varied")
                table["gather"]["bytes_per_s"]["8"] = extrapolated(gather, "varied")
                one = Predictor(program, pathlib.Path(scratch), {"scratch": table})
                rows.append({"h2d_bytes_per_s": h2d, "gather_bytes_per_s": gather,
                             **one.row("scratch", "all_gather", WAN_14B, LINK_14B)})
                rows[-1]["command"] = "dlo predict, the copy_engine file with the two rates above"
    return rows


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |",
             "| " + " | ".join("---" if i < 2 else "---:" for i in range(len(head))) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def chunk_text(row):
    size = f"{row['chunk_bytes'] // MIB} MiB" if row["chunk_bytes"] else "whole block"
    return f"{size} ({row['chunks']})"


def figures(tables):
    rows = []
    for name, calibration in tables.items():
        for what, figure in [
                ("H2D, B/s a rank of eight", calibration["h2d"]["bytes_per_s"]["8"]),
                ("H2D latency, ns", calibration["h2d"]["latency_ns"]),
                ("gather, B/s over eight", calibration["gather"]["bytes_per_s"]["8"]),
                ("gather latency, ns", calibration["gather"]["latency_ns"]),
                ("lost beside copies", calibration["compute"]["lost_beside_copy"]),
                ("lost beside gathers", calibration["compute"]["lost_beside_gather"]),
                ("host, ns a gather", calibration["host"]["gather_ns"]),
                ("host, ns a block", calibration["host"]["block_ns"])]:
            kind = "extrapolated" if figure.get("extrapolated") else "measured or published"
            rows.append([name, what, f"{figure['value']:.4g}", kind, figure["source"]])
    return rows


def numbers(row, *keys):
    return [f"{row[key]:.2f}" for key in keys]


HEAD = """# Eight H200s: predictions, made before any run

**Nothing here was measured on eight GPUs.** No such machine was at hand: every row is an answer of
`dlo predict`, the simulator with the real hot path, from figures of 1, 2 and 4 GPUs and published
ones. Made by `scripts/predict_eight` with the program of commit {commit}; `predictions.json` holds
every row with its command. `scripts/predict_eight --against DIR` holds them against the results of
a later run of `scenarios/throughput`. AllGather of two GPUs, predicted by the same simulator before
the rounds of `reports/h200_2gpu`, was off by {on_two}.

## Which limit binds
"""
SIZES = """
A 14B block is 87.9 MB a rank, which the default of 64 MiB cuts into two chunks of 43.9 MB; a 1.3B
block is 11.6 MB a rank, and the gather binds of the two. Limit: the longer of the whole shard's H2D
and the whole block's gather, as `link_share_percent` has it.

## Forwards of the throughput scenarios
"""
SWEEP = """
All but Forward are milliseconds a block. Not in the model: NCCL kernels that wait for SMs beside
long attention kernels (the reason for copy engines), spread, other users of the host's memory.
NCCL's loss, 0.83 of a gather's time, was seen beside 80 ms of compute a block; beside 2 ms it is a
guess, and an upper one.

## Chunk sweep
"""
GATHERS = """
14B: 256 tokens, which hides the compute (`h200_chunks`). 1.3B: 1,280 tokens; a block's launches
take longer than both, and its shares say how far the host keeps it from the limit.

## Gather by size
"""
SENSITIVITY = """
`h200_gather_sizes`. H2D of eight links at once is the figure `h2d_together_bytes_per_s` of every
run there, predicted 46.6 GB/s a rank.

## If the two rates are others

14B, 256 tokens, chunks of 64 MiB; latencies of copy_engine. 23.3 GB/s a link: the host's memory
gives eight ranks no more than four. 55.4: no loss against one link alone. 254 GB/s gathered: a pull
is no faster than the whole line over two GPUs; 444: nor is a piece's copy on the device.
"""
SOURCES = """
## Figures, and where each comes from
"""


def binding_text(name, calibration):
    links = 8 * calibration["h2d"]["bytes_per_s"]["8"]["value"] / 1e9
    rate = calibration["gather"]["bytes_per_s"]["8"]["value"] / 1e9
    crossing = crossing_bytes(calibration)
    verdict = "the gather binds at every size."
    if crossing:
        verdict = (f"with its latency they meet at {crossing / 1e6:.0f} MB a rank and chunk: the "
                   "link binds above, the gather below.")
    return (f"- {name}: eight links at once carry {links:.0f} GB/s, the gather delivers {rate:.0f};"
            f" {verdict}")


def arms_table(rows):
    return table(["Instance", "Arm", "Forward ms", "Block ms", "H2D", "Gather", "Compute",
                  "of it lost", "Host", "Limit", "Share %", "Bound"],
                 [[row["scenario"], row["arm"],
                   *numbers(row, "forward_ms", "block_ms", "h2d_ms", "gather_ms", "compute_ms",
                            "lost_ms", "host_ms", "limit_ms"),
                   "-" if row["arm"] == "resident" else f"{row['share_percent']:.1f}",
                   row["bound"]] for row in rows])


def sweep_table(rows):
    return table(["Model", "Gather", "Chunk a rank (chunks)", "Block ms", "H2D", "Gather ms",
                  "Share %", "Bound"],
                 [[row["preset"], row["gather"], chunk_text(row),
                   *numbers(row, "block_ms", "h2d_ms", "gather_ms"),
                   f"{row['share_percent']:.1f}", row["bound"]] for row in rows])


def gathers_table(rows, tables):
    return table(["Model of the block", "Gather", "Block MB", "Gather ms", "Of it latency", "GB/s"],
                 [[row["preset"], row["gather"], f"{row['block_bytes'] / 1e6:.1f}",
                   f"{row['gather_ms']:.3f}",
                   f"{tables[row['gather']]['gather']['latency_ns']['value'] / 1e6:.3f}",
                   f"{row['block_bytes'] / row['gather_ms'] / 1e6:.0f}"] for row in rows])


def sensitivity_table(rows):
    return table(["H2D GB/s a rank", "Gather GB/s", "Block ms", "Limit ms", "Share %", "Bound"],
                 [[f"{row['h2d_bytes_per_s'] / 1e9:.1f}", f"{row['gather_bytes_per_s'] / 1e9:.0f}",
                   *numbers(row, "block_ms", "limit_ms"), f"{row['share_percent']:.1f}",
                   row["bound"]] for row in rows])


def markdown(data, tables):
    off = [f"{100 * (on_two(run, 'all_gather.prediction_ratio') - 1):+.1f} % ({run})"
           for run in RUNS_ON_TWO]
    lines = [HEAD.format(commit=data["commit"], on_two=", ".join(off))]
    lines += [binding_text(name, calibration) for name, calibration in tables.items()]
    lines += [SIZES, *arms_table(data["arms"]), SWEEP, *sweep_table(data["sweep"])]
    lines += [GATHERS, *gathers_table(data["gathers"], tables)]
    lines += [SENSITIVITY, *sensitivity_table(data["sensitivity"])]
    lines += [SOURCES, *table(["Calibration", "Figure", "Value", "Kind", "Source"],
                              figures(tables)), ""]
    return "\n".join(lines + [f"- {source}" for _, source in COMPUTE]) + "\n"


def predict(folder, program, commit):
    tables = calibrations(program)
    predictor = Predictor(program, folder, tables)
    data = {"kind": "predictions", "measured": False, "commit": commit, "arms": arms(predictor),
            "sweep": sweep(predictor), "gathers": gathers(predictor),
            "sensitivity": sensitivity(program, tables)}
    (folder / "predictions.json").write_text(json.dumps(data, indent=1) + "\n")
    (folder / "predictions.md").write_text(markdown(data, tables))
    print(folder / "predictions.md")


def against(folder, results_folder):
    data = json.loads((folder / "predictions.json").read_text())
    results = json.loads((results_folder / "results.json").read_text())
    values = {(scenario["name"], metric["name"]): metric["value"]
              for scenario in results["scenarios"] for metric in scenario["metrics"]}
    rows = []
    worst = 0
    for row in data["arms"] + data["sweep"] + data["gathers"]:
        key = "forward_ms" if row["arm"] else "gather_ms"
        metric = f"{row['arm']}.{key}" if row["arm"] else key
        found = values.get((row["scenario"], metric))
        if found is not None:
            ratio = row[key] / found
            rows.append([row["scenario"], metric, f"{row[key]:.3f}", f"{found:.3f}",
                         f"{ratio:.3f}"])
            worst = max(worst, abs(ratio - 1))
    if not rows:
        sys.exit(f"predict_eight: {results_folder}/results.json has none of the predicted arms")
    print("\n".join(table(["Instance", "Figure", "Predicted ms", "Measured ms", "Ratio"], rows)))
    if worst > TOLERANCE:
        sys.exit(f"predict_eight: off by up to {100 * worst:.1f} %, above {100 * TOLERANCE:.0f} %")


if sys.argv[1] == "predict":
    predict(pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4])
else:
    against(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
