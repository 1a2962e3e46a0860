"""Receptive fields, dynamics and pruning of the page, in a browser."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


def pixels(canvas):
    return canvas.evaluate("(node) => node.toDataURL()")


def list_boxes(places):
    return places.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().toJSON())")


def wait(page):
    page.locator("[aria-busy]").first.wait_for(state="detached")


def test_the_round_changes_the_masks_of_all_methods(open_page):
    page = open_page("#/fields")
    wait(page)
    shown = page.locator("canvas.units")
    assert shown.count() == 3
    last = [pixels(canvas) for canvas in shown.all()]
    assert len(set(last)) == 3
    slider = page.get_by_role("slider", name="Round")
    slider.fill("1")
    page.get_by_text("round 1 of").wait_for()
    early = [pixels(canvas) for canvas in page.locator("canvas.units").all()]
    assert not set(early) & set(last)
    assert "round=1" in page.url
    masks = {}
    for method in ("IMP", "one-shot", "random"):
        page.get_by_role("group", name="Method").get_by_role("button", name=method).click()
        masks[method] = pixels(page.locator(".detail canvas.field").first)
    assert masks["IMP"] == masks["one-shot"] != masks["random"]  # after one round the two have the same mask


def test_playing_goes_through_the_rounds(open_page):
    page = open_page("#/fields?round=0")
    wait(page)
    page.get_by_role("button", name="Play").click()
    last = page.get_by_role("slider", name="Round").get_attribute("max")
    page.get_by_text(f"round {last} of {last}").wait_for()
    page.get_by_role("button", name="Play").wait_for()


def test_a_click_on_a_unit_shows_what_is_measured_on_it(open_page):
    page = open_page("#/fields")
    wait(page)
    before = page.locator(".detail h2").inner_text()
    page.locator("canvas.units").nth(1).click(position={"x": 150, "y": 150})
    title = page.locator(".detail h2").inner_text()
    assert title != before
    assert "one-shot" in title
    text = page.locator(".detail").inner_text()
    for words in (
        "Mask",
        "Pairs S(d)",
        "Pre-activations: kurtosis",
        "Gabor fit",
        "Weights at the rewind point",
    ):
        assert words in text
    assert re.search(r"σx = [\d.]+, σy = |no fit: fewer than two kept inputs", text)  # one-shot units may keep very few
    assert re.search(r"explains .*% of the variance|No fit", text)
    unit = re.search(r"Unit (\d+)", title)[1]
    assert page.get_by_label("Unit", exact=True).input_value() == unit
    page.get_by_role("group", name="Method").get_by_role("button", name="random").click()
    last = page.get_by_role("slider", name="Round").get_attribute("max")
    assert page.locator(".detail h2").inner_text() == f"Unit {unit}, random, round {last}"


def test_only_the_name_of_the_unit_is_announced_while_it_plays(open_page):
    page = open_page("#/fields?round=0")
    wait(page)
    page.locator(".detail [role=status]").evaluate("(node) => { node.marked = true; }")
    page.get_by_role("slider", name="Round").fill("1")
    status = page.locator(".detail [role=status]", has_text="round 1")
    assert status.evaluate("(node) => node.marked")  # the same element, or nothing would be announced
    assert page.locator("[aria-live]").count() == 0


def test_axes_have_one_way_to_write_powers_and_the_numbers_of_the_text(open_page):
    page = open_page("#/dynamics")
    wait(page)
    labels = page.locator("figure", has_text="against excess kurtosis").locator("svg text.end").all_text_contents()
    assert labels[:3] == ["1", "1.5", "3"]
    page = open_page("#/pruning")
    wait(page)
    chart = page.locator("figure", has_text="Median error and bounds")
    for place in ("text.end", "text.middle:not(.label)"):
        labels = chart.locator(place).all_text_contents()
        assert len(labels) > 1
        assert len({"10" in label and label[-1] in "⁰¹²³⁴⁵⁶⁷⁸⁹" for label in labels}) == 1, labels


def test_weights_and_deeper_layers_are_shown(open_page):
    page = open_page("#/fields")
    wait(page)
    masks = pixels(page.locator("canvas.units").first)
    page.get_by_role("group", name="Show").get_by_role("button", name="weights").click()
    assert pixels(page.locator("canvas.units").first) != masks
    page.get_by_label("Layer").select_option("1")
    assert "S(d)" not in page.locator(".detail").inner_text()
    runs = page.get_by_label("Data and run")
    runs.select_option(index=1)
    page.get_by_label("Layer").wait_for()
    assert runs.locator("option").count() > 1


def test_the_field_moves_with_time_beside_its_flow(open_page):
    page = open_page("#/dynamics")
    wait(page)
    assert page.locator("canvas.map").count() >= 2
    end = page.locator(".maps .line").first.get_attribute("d")
    page.get_by_role("slider", name="Time").fill("1")
    start = page.locator(".maps .line").first.get_attribute("d")
    assert start != end
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("(old) => document.querySelector('.maps .line').getAttribute('d') !== old", arg=start)
    page.get_by_role("button", name="Pause").click()
    for words in ("Marginal of", "Amplifier φ", "How local the field is"):
        assert words in page.locator("main").inner_text()


def test_points_of_the_phase_diagram_keep_away_from_its_axes(open_page):
    page = open_page("#/dynamics")
    wait(page)
    chart = page.locator("figure", has_text="against excess kurtosis").locator("svg")
    (axis,) = list_boxes(chart.locator(".axis"))
    for point in list_boxes(chart.locator("a circle")):
        assert axis["left"] < point["left"] < point["right"] < axis["right"]
        assert point["bottom"] < axis["top"]
        assert all(label["right"] < point["left"] for label in list_boxes(chart.locator("text.end")))


def test_the_cards_of_a_unit_fill_their_rows(open_page):
    page = open_page("#/fields")
    wait(page)
    found = list_boxes(page.locator(".detail .panels > .panel"))
    columns, rows = ({round(box[side]) for box in found} for side in ("left", "top"))
    assert len(found) == len(columns) * len(rows)


def test_the_phase_diagram_says_that_it_is_cut_only_where_it_is(open_page):
    page = open_page("#/dynamics")
    wait(page)
    largest = max(
        float(found[1].replace("−", "-"))
        for point in page.locator(".chart a").all()
        if (found := re.search(r"excess kurtosis (\S+),", point.get_attribute("aria-label") or ""))
    )
    title = page.locator("figcaption", has_text="against excess kurtosis").inner_text()
    assert ("20" in title) == (largest > 20)


def test_a_point_of_the_phase_diagram_opens_its_field(open_page):
    page = open_page("#/dynamics")
    wait(page)
    other = page.locator(".chart a:not(.chosen)").last
    name = other.get_attribute("aria-label")
    other.focus()
    page.keyboard.press("Enter")
    page.locator(f'.chart a.chosen[aria-label="{name}"]').wait_for()  # once its data are read
    assert page.locator(".chart a.chosen").count() == 1


def test_it_opens_where_peaks_agree_and_says_where_they_do_not(open_page, index):
    page = open_page("#/dynamics")
    wait(page)
    entries = index["dynamics"]["entries"]
    words = page.get_by_text("batches are noisy and Eq. 5 is not")
    assert words.is_visible() == (not any(any(entry["agree"]) for entry in entries))
    run = re.search(r"run=([\w-]+)", page.url)[1]
    shown = next(entry["agree"] for entry in entries if entry["run"] == run)
    start = shown.index(True) if True in shown else 0
    menu = page.get_by_label("Initialisation")
    assert menu.input_value() == str(start)
    assert "init=" not in page.url
    menu.select_option(str((start + 1) % len(shown)))  # an address with another one is one to link
    assert page.url.endswith(f"init={(start + 1) % len(shown)}")
    page.reload()
    page.wait_for_selector("main h1")
    wait(page)
    assert menu.input_value() == str((start + 1) % len(shown))
    other = next(entry for entry in entries if False in entry["agree"])
    page = open_page(f"#/dynamics?run={other['run']}&init={other['agree'].index(False)}")
    wait(page)
    assert page.get_by_text("batches are noisy and Eq. 5 is not").is_visible()


def test_a_setting_is_changed_alone_or_the_page_says_what_else_was_changed(open_page, index):
    entries = {entry["run"]: entry["settings"] for entry in index["dynamics"]["entries"]}
    page = open_page("#/dynamics")
    wait(page)
    for kind in [option.get_attribute("value") for option in page.get_by_label("Data").locator("option").all()]:
        page.get_by_label("Data").select_option(kind)
        page.wait_for_function("(kind) => document.querySelector('.controls select').value === kind", arg=kind)
        keys = page.locator(".controls [data-key]").evaluate_all("(all) => all.map((one) => one.dataset.key)")
        for key in keys:
            field = page.locator(f".controls [data-key='{key}']").locator("select, input")
            if field.count() == 0:  # another run may have others
                continue
            before = read_run(page)
            if field.evaluate("(node) => node.tagName") == "SELECT":
                values = [option.get_attribute("value") for option in field.locator("option").all()]
                field.select_option(values[0] if field.input_value() == values[-1] else values[-1])
            else:
                field.fill(field.get_attribute("max" if field.input_value() == "0" else "min"))
            page.wait_for_function("(old) => !location.hash.includes(old)", arg=before)
            old, new = entries[before], entries[read_run(page)]
            also = {name for name in old.keys() & new.keys() - {key} if old[name] != new[name]} - {"record_every"}
            words = page.locator(f".controls [data-key='{key}']").get_by_text("also changed:")
            assert words.count() == (1 if also else 0), (key, also)
            assert all(f"{name.removeprefix('task.')} = " in words.inner_text() for name in also)


def read_run(page):
    return re.search(r"run=([^&]+)", page.url)[1]


def test_another_kind_of_data_has_another_amplifier(open_page):
    page = open_page("#/dynamics")
    wait(page)
    titles = set()
    menu = page.get_by_label("Data")
    for kind in [option.get_attribute("value") for option in menu.locator("option").all()]:
        page.get_by_label("Data").select_option(kind)
        page.wait_for_function("(kind) => document.querySelector('.controls select').value === kind", arg=kind)
        titles.add(page.locator("figcaption", has_text="Marginal of").inner_text())
    assert len(titles) > 1


def test_densities_by_score_and_overlaps_of_masks(open_page):
    page = open_page("#/pruning")
    wait(page)
    lines = page.locator(".panels").first.locator(".line")
    every = lines.count()
    page.get_by_role("group", name="Scores").get_by_role("checkbox").first.uncheck()
    assert 0 < page.locator(".panels").first.locator(".line").count() < every
    shared = page.get_by_text("They share")
    before = shared.inner_text()
    page.get_by_label("One mask").select_option(index=1)
    page.get_by_label("Another mask").select_option(index=1)
    assert "Jaccard index 1" in shared.inner_text()
    assert shared.inner_text() != before


def test_bounds_follow_dimension_and_distance(open_page):
    page = open_page("#/pruning")
    wait(page)
    words = page.get_by_text("The printed bound lies below")
    page.get_by_label("Distance τ").select_option("0")
    assert "in 0%" in words.inner_text()
    page.get_by_label("Number of weights d").select_option("10")
    page.get_by_label("Distance τ").select_option("2")
    assert "in 0%" not in words.inner_text()
    assert "d=10" in page.url


def test_an_island_of_which_only_the_beginning_has_been_read_is_waited_for(browser, page_file):
    """A slow machine opens a view while the file is still being read."""
    data, rest = Path(page_file).read_bytes(), threading.Event()
    first = re.search(rb'data-island="fields/([^"]+)"', data)
    assert first
    cut = first.end() + 20_000

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(data[:cut])
            self.wfile.flush()
            rest.wait(60)
            self.wfile.write(data[cut:])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context, faults = browser.new_context(), []
    try:
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"http://127.0.0.1:{server.server_port}/#/fields?run={first[1].decode()}", wait_until="commit")
        page.locator("[aria-busy]").first.wait_for()
        page.wait_for_timeout(300)
        rest.set()
        wait(page)
        assert page.locator("canvas.units").count() == 3
        assert faults == []
    finally:
        rest.set()
        context.close()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    "address",
    [
        "#/fields?layer=x&round=-1&show=x&method=toString&unit=x",
        "#/fields?layer=-1&round=1.5",
        "#/dynamics?init=-1",
        "#/pruning?d=7&a=x&b=-1&set=99",
        "#/item/100%",
    ],
)
def test_an_address_with_values_that_this_page_does_not_have_is_shown(open_page, address):
    page = open_page(address)  # such as a link to the page of another store; it fails on an error in the console
    wait(page)
    assert "NaN" not in page.url
    assert page.locator("main h1").inner_text()


@pytest.mark.parametrize("view", ["#/fields", "#/dynamics", "#/pruning"])
def test_a_view_that_was_left_while_its_data_load_does_not_change_the_next_address(open_page, view):
    page = open_page("#/store")
    go = """async ([view, next]) => {
        const changed = () => new Promise((done) => addEventListener("hashchange", done, { once: true }));
        for (const address of [view, next]) { location.hash = address; await changed(); }
        await new Promise((done) => setTimeout(done, 1000));
        return location.hash;
    }"""
    assert page.evaluate(go, [view, "#/item/bar2023/theorem4.4"]) == "#/item/bar2023/theorem4.4"


def test_masks_sampled_once_and_every_time_have_lines_of_their_own(open_page):
    page = open_page("#/pruning")
    wait(page)
    keys = page.locator("figure", has_text="Density of each layer").locator(".legend li")
    for key in keys.all():
        words = key.inner_text()
        look = "dotted" if "every" in words else "dashed" if "sampled" in words else "solid"
        assert key.locator(".key").evaluate("(node) => getComputedStyle(node).borderTopStyle") == look


def test_the_keyboard_stays_at_the_control_that_it_changes(open_page):
    for address, control in (
        ("#/fields", ".detail select"),
        ("#/fields", ".detail .choice button:nth-child(2)"),
        ("#/dynamics", ".controls select >> nth=-1"),
        ("#/pruning", "input[type=checkbox]"),
        ("#/pruning", "main select >> nth=-1"),
    ):
        page = open_page(address)
        wait(page)
        chosen = page.locator(control).first
        chosen.focus()
        is_menu = chosen.evaluate("(node) => node.tagName") == "SELECT"
        page.keyboard.press("ArrowDown" if is_menu else "Space")
        assert page.locator(control).first.evaluate("(node) => node === document.activeElement"), address
