import { checkPages, hasPrograms, pages } from "./pages.ts";

checkPages(pages.filter(hasPrograms));
