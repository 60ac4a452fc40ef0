// The page is as high as what can be seen of it, so that the question box stays above a phone's keyboard.

export function fitToViewport() {
  const { visualViewport } = window;
  if (!visualViewport) {
    return;
  }
  const fit = () => {
    document.documentElement.style.setProperty("--app-height", `${visualViewport.height}px`);
    // A keyboard pushes the page up; its own scroll area is the only thing that should move.
    window.scrollTo(0, 0);
  };
  visualViewport.addEventListener("resize", fit);
  fit();
}
