"""Claims, items and figures of the page, in a browser."""

import csv
import re

import pytest

CLAIM, GROUP = "details.claim", "details.group"
VIEWS = ("#/claims", "#/item/bar2023/theorem4.4", "#/fields", "#/dynamics", "#/pruning", "#/store")


def count_claims(page):
    return page.locator(CLAIM).count()


def wait_for_figure(place):
    place.locator("figure.drawing:not([aria-busy])").first.wait_for()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_problem(open_page, axe, view, scheme):
    page = open_page(view, scheme=scheme)
    page.locator("[aria-busy]").first.wait_for(state="detached")
    if view == "#/claims":
        page.locator(GROUP).first.locator("summary").first.click()
        page.locator(CLAIM).first.locator("summary").click()
        wait_for_figure(page.locator(CLAIM).first)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    assert [(rule["id"], [node["html"][:120] for node in rule["nodes"][:3]]) for rule in serious] == []


@pytest.mark.parametrize("view", VIEWS)
def test_no_identifier_occurs_twice(open_page, view):
    page = open_page(view)
    page.locator("[aria-busy]").first.wait_for(state="detached")
    identifiers = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_phone(open_page, view):
    page = open_page(view, wide=False)
    page.locator("[aria-busy]").first.wait_for(state="detached")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_open_claim_fits_a_phone_and_its_folds_can_be_seen_to_open(open_page):
    page = open_page(wide=False)
    page.locator(GROUP).first.locator("summary").first.click()
    claim = page.locator(CLAIM).first
    claim.locator("summary").first.click()
    claim.locator(".sheet img").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    look = "(node) => getComputedStyle(node).display"
    assert claim.locator(".fold > summary").first.evaluate(look) == "list-item"  # which has a triangle


def test_filters_are_in_the_address_and_can_be_linked(open_page):
    page = open_page()
    everything = count_claims(page)
    page.get_by_label("Paper").select_option("bar2023")
    some = count_claims(page)
    assert 0 < some < everything
    page.get_by_label("Verdict").select_option("corrected")
    few = count_claims(page)
    assert 0 < few < some
    assert page.get_by_label("Verdict").locator("option:checked").inner_text() == f"corrected ({few})"
    assert set(page.locator(f"{CLAIM} .verdict").all_inner_texts()) == {"✎ corrected"}
    address = re.sub(r"^[^#]*", "", page.url)
    assert address == "#/claims?paper=bar2023&verdict=corrected"
    again = open_page(address)
    assert count_claims(again) == few
    assert again.get_by_label("Verdict").input_value() == "corrected"
    again.get_by_role("button", name="Show all").click()
    again.get_by_text(f"All {everything}").wait_for()
    scale = again.get_by_label("Scale").locator("option").last.get_attribute("value")
    again.get_by_label("Scale").select_option(scale)
    assert f"scale={scale}" in again.url


def test_search_finds_claims_from_every_view(open_page):
    page = open_page("#/store")
    page.get_by_label("Search the claims").fill("printed bound")
    page.locator(CLAIM).first.wait_for()
    assert all("bar2023" in name for name in page.locator(f"{GROUP} > summary code").all_inner_texts())
    page.get_by_label("Search the claims").fill("no such words at all")
    page.get_by_text("No claim has all of these words").wait_for()
    assert page.locator("#search").evaluate("(box) => document.activeElement === box")


def search(page, words):
    page.get_by_label("Search the claims").fill(words)
    return page.locator(CLAIM).evaluate_all("(all) => all.map((one) => one.dataset.claim)")


def test_a_place_in_a_paper_is_found_however_it_is_written(open_page):
    page = open_page()
    everything = count_claims(page)
    found = search(page, "Figure 1")
    assert found
    assert len(found) < everything
    assert {claim.split("/")[1] for claim in found} >= {"fig1"}
    assert search(page, "fig. 1") == search(page, "FIG 1") == search(page, "fig1") == found
    theorem = search(page, "Theorem 4.4")
    assert theorem == search(page, "theorem4.4") != []
    assert not set(search(page, "Theorem 4")) & set(theorem)


def test_the_processor_is_among_what_made_the_runs(open_page, index):
    text = open_page("#/store").locator("main").inner_text()
    assert all(processor in text for processor in index["made"]["processor"])


def test_a_claim_opens_its_figure_numbers_settings_and_command(open_page):
    page = open_page("#/claims?paper=bar2023&q=theorem4.4")
    claim = page.locator(CLAIM).first
    claim.locator("summary").first.focus()
    page.keyboard.press("Enter")
    wait_for_figure(claim)
    image = claim.locator("figure img")
    assert image.evaluate("(node) => node.decode().then(() => node.naturalWidth)") > 100
    assert "Theorem 4.4" in image.get_attribute("alt")
    text = claim.inner_text()
    assert "n = " in text
    assert "fails, as it must" in text
    scale = re.search(r"prunefield reproduce bar2023/theorem4.4 --scale (\w+)", text)[1]
    assert f"this is {scale} scale" in text
    claim.get_by_text("Numbers of the figure").click()
    claim.get_by_role("region", name="Table of").locator("td").first.wait_for()
    claim.get_by_text("Settings that vary").click()
    claim.get_by_role("region", name="runs of kind sketch").get_by_role("columnheader", name="tau").wait_for()
    claim.get_by_text("that all of them share").first.click()
    claim.get_by_role("cell", name="examples").first.wait_for()


def test_intervals_are_promised_only_where_the_table_has_some(open_page):
    page = open_page()
    for link in page.locator("#places .shelf li a").all():
        link.click()
        page.get_by_role("heading", level=1, name=link.locator(".name").inner_text()).wait_for()
        fold = page.locator("details.fold", has_text="Numbers of the figure").first
        fold.locator("summary").click()
        fold.locator("td").first.wait_for()
        promised = "with intervals" in fold.locator("summary").inner_text()
        assert promised == (fold.locator("th", has_text="interval)").count() > 0)


def test_the_sidebar_leads_to_an_item_with_files(open_page, tmp_path):
    page = open_page()
    page.locator("#places a", has_text="Theorem 4.4").click()
    page.get_by_role("heading", level=1, name="Theorem 4.4").wait_for()
    assert page.locator("#places [aria-current]").get_attribute("data-place") == "item/bar2023/theorem4.4"
    wait_for_figure(page)
    files = {}
    has_pdf = page.get_by_text("PDF: items/bar2023/theorem4.4-").count() == 0  # a full page has no room for all of them
    for name in ("SVG", "PDF", "CSV") if has_pdf else ("SVG", "CSV"):
        with page.expect_download() as download:
            page.locator("a.file", has_text=name).click()
        files[name] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[name])
    for name, file in files.items():
        assert re.fullmatch(rf"bar2023-theorem4\.4-\w+\.{name.lower()}", file.name)
    assert " scale" in files["SVG"].read_text()
    assert not has_pdf or files["PDF"].read_bytes().startswith(b"%PDF")
    with files["CSV"].open() as file:
        assert "printed_failures" in next(csv.reader(file))


def test_short_names_stand_before_titles_that_do_not_begin_with_them(open_page, index):
    page = open_page()
    for item in index["items"]:
        short = item["name"].partition("/")[2]
        is_said = "".join(item["title"].lower().split()).startswith(short.lower())
        text = item["title"] if is_said else f"{short} {item['title']}"
        assert page.locator(f'[data-place="item/{item["name"]}"] .entry').inner_text() == text
        assert page.locator(f'[data-item="{item["name"]}"] > summary h2').inner_text() == text
    assert page.locator("#places .short").count() > 0


def test_the_caption_is_seen_once(open_page):
    page = open_page("#/item/bar2023/theorem4.4")
    wait_for_figure(page)
    caption = page.locator("figure.drawing figcaption")
    assert "bar2023/theorem4.4" in caption.text_content()
    assert caption.bounding_box()["width"] <= 1  # for screen readers: it stands in the image, too
    assert caption.evaluate("(node) => getComputedStyle(node).display") != "none"


def test_negative_numbers_have_a_minus_sign_and_are_found(open_page, index):
    texts = [
        (item["name"], claim["observed"]) for item in index["items"] for claim in item["claims"] if "observed" in claim
    ]
    name, text = next((name, text) for name, text in texts if re.search(r" -\d", text))
    page = open_page(f"#/item/{name}")
    shown = page.locator(f"{CLAIM} .seen").all_text_contents()
    assert not any(re.search(r"(^|[\s(=,])-\d|\de-\d", text) for text in shown)
    number = re.search(r" (-\d[\d.]*\d)", text)[1]
    assert any(number.replace("-", "−") in one for one in shown)
    assert search(page, number.replace("-", "−")) == search(page, number) != []
    assert page.locator("code", has_text="−").count() == 0  # commands are to be copied


def test_numbers_in_tables_stay_on_the_right_if_they_are_negative(open_page):
    page = open_page("#/item/lufkin2024/fig3")
    page.get_by_text("Numbers of the figure").click()
    cells = page.get_by_role("region", name="Table of").locator("td", has_text=re.compile(r"^−[\d.e−]+$"))
    cells.first.wait_for()
    assert {cell.get_attribute("class") for cell in cells.all()} == {"number"}


def test_a_figure_that_scrolls_on_a_phone_says_so(open_page):
    page = open_page("#/item/redman2025/fig1", wide=False)
    wait_for_figure(page)
    sheet, hint = page.locator(".sheet"), page.locator(".hint")
    hint.wait_for()
    assert "more" in sheet.get_attribute("class")
    sheet.evaluate("(node) => { node.scrollLeft = node.scrollWidth; }")
    page.locator(".sheet:not(.more)").wait_for()
    wide = open_page("#/item/redman2025/fig1")
    wait_for_figure(wide)
    assert not wide.locator(".hint").is_visible()
    assert wide.locator(".sheet.more").count() == 0


def test_an_open_menu_has_the_colours_of_the_text(open_page):
    page = open_page(wide=False)
    colour = "getComputedStyle(document.querySelector('#places .rooms a')).color"
    page.get_by_role("button", name="Menu").click()
    assert page.evaluate(colour) == page.evaluate("getComputedStyle(document.body).color")


def test_light_and_dark_can_be_switched(open_page):
    page = open_page(scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(ground) != dark
    page.reload()
    page.wait_for_selector("main h1")
    assert page.evaluate(ground) != dark  # it is remembered


def test_a_phone_has_a_menu_and_claims_as_cards(open_page):
    page = open_page(wide=False)
    menu = page.get_by_role("button", name="Menu")
    assert not page.locator("#places").is_visible()
    menu.click()
    assert menu.get_attribute("aria-expanded") == "true"
    page.locator("#places a", has_text="Dynamics").click()
    page.get_by_role("heading", level=1, name="neuron").wait_for()
    assert not page.locator("#places").is_visible()
    page.go_back()
    page.locator(GROUP).first.locator("summary").first.click()
    boxes = (
        page.locator(CLAIM)
        .first.locator("summary > span")
        .evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().x)")
    )
    assert len(set(boxes)) == 1
    assert boxes[0] > 0


def test_items_of_a_long_list_unfold_and_fold(open_page):
    page = open_page()
    groups, claims = page.locator(GROUP), page.locator(CLAIM)
    assert page.locator(f"{GROUP}[open]").count() == 0
    assert not claims.first.is_visible()
    groups.first.locator("summary").first.click()
    assert claims.first.is_visible()
    page.get_by_role("button", name="Open all items").click()
    assert page.locator(f"{GROUP}[open]").count() == groups.count()
    assert claims.last.is_visible()
    page.get_by_role("button", name="Close all items").click()
    assert page.locator(f"{GROUP}[open]").count() == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # all claims are on paper
    assert page.locator(f"{GROUP}[open]").count() == groups.count()


def test_few_claims_are_shown_at_once(open_page):
    page = open_page("#/claims?q=theorem4.4")
    assert page.locator(f"{GROUP}[open]").count() == page.locator(GROUP).count() > 0


def test_a_linked_claim_is_open(open_page):
    page = open_page("#/claims")
    name = page.locator(CLAIM).last.get_attribute("data-claim")
    linked = open_page(f"#/claims?open={name}").locator(f"{CLAIM}[open]")
    assert linked.get_attribute("data-claim") == name
    assert linked.is_visible()


def test_figures_are_printed(open_page):
    page = open_page("#/item/bar2023/theorem4.4")
    wait_for_figure(page)
    page.emulate_media(media="print")
    assert not page.locator("#side").is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_a_dark_page_is_printed_light_with_what_was_chosen(open_page):
    light, dark = (open_page("#/fields?show=weights", scheme=scheme) for scheme in ("light", "dark"))
    for page in (light, dark):
        page.locator("[aria-busy]").first.wait_for(state="detached")
    pixels = "document.querySelector('canvas.units').toDataURL()"
    before, white = dark.evaluate(pixels), light.evaluate(pixels)
    assert before != white
    dark.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert dark.evaluate(pixels) == white
    dark.emulate_media(media="print")
    assert dark.get_by_role("button", name="weights", exact=True).is_visible()
    assert not dark.get_by_role("button", name="masks", exact=True).is_visible()
    dark.emulate_media(media="screen")
    dark.evaluate("dispatchEvent(new Event('afterprint'))")
    assert dark.evaluate(pixels) == before


def test_an_address_of_nothing_says_so(open_page):
    page = open_page("#/item/redman2025/fig99")
    page.get_by_role("heading", level=1, name="Not on this page").wait_for()
    page.locator("main").get_by_role("link", name="All claims").click()
    page.locator(GROUP).first.wait_for()


def test_the_keyboard_can_skip_the_sidebar(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert count_claims(page) > 0
