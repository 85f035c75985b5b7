// What every page does: toasts, times, the theme's buttons, the search dialog, copying.
import { startConfirming } from "../confirming.js";
import { startCopying } from "../copying.js";
import { startDropping } from "../dropping.js";
import { startHealth } from "../health.js";
import { startSearch } from "../search.js";
import { startShortcuts } from "../shortcuts.js";
import { startShownValues } from "../shown_values.js";
import { startSignedOut } from "../signed_out.js";
import { startThemeButtons } from "../theme_buttons.js";
import { startTicking } from "../ticking.js";
import { startTimes } from "../times.js";
import { startToasts } from "../toasts.js";
import { startSending, startUnsaved } from "../unsaved.js";

// What a person has opened stays open when a part of the page comes anew.
if (window.htmx) window.htmx.config.morphIgnore = [...(window.htmx.config.morphIgnore ?? []), "open"];

startHealth();
startToasts();
startTimes();
startThemeButtons();
startSearch();
startShortcuts();
startSignedOut(document.body.dataset.login);
startUnsaved();
startConfirming();
startSending();
startCopying();
startTicking();
startDropping();
startShownValues();
