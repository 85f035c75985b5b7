// What every page does: toasts, times, the theme's buttons, the search dialog, copying.
import { startConfirming } from "../confirming.js";
import { startCopying } from "../copying.js";
import { startHealth } from "../health.js";
import { startSearch } from "../search.js";
import { startSignedOut } from "../signed_out.js";
import { startThemeButtons } from "../theme_buttons.js";
import { startTicking } from "../ticking.js";
import { startTimes } from "../times.js";
import { startToasts } from "../toasts.js";
import { startSending, startUnsaved } from "../unsaved.js";

startHealth();
startToasts();
startTimes();
startThemeButtons();
startSearch();
startSignedOut(document.body.dataset.login);
startUnsaved();
startConfirming();
startSending();
startCopying();
startTicking();
