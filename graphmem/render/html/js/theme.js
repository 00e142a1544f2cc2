// Light or dark: as the system says until the reader chooses.

const THEME_KEY = "graphmem-theme";
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const forced = document.documentElement.dataset.theme;
  return forced ? forced === "dark" : systemDark.matches;
}

function startTheme(redraw) {
  const button = element("theme");
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  };
  const remembered = recall();
  if (remembered === "light" || remembered === "dark") document.documentElement.dataset.theme = remembered;
  label();
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    remember(document.documentElement.dataset.theme);
    label();
    redraw();
  });
  systemDark.addEventListener("change", () => {
    label();
    redraw();
  });
}

// Browsers may refuse storage to files opened from disk; then the choice lasts as long as the page.
function recall() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // See recall.
  }
}

// The value of a colour as canvases take it.
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function roleColour(role) {
  return colour(`--role-${role.replaceAll(" ", "-")}`) || colour("--role-other");
}
